package grafana

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// CheckAddress says what the address of a server can't have though it reads well: u is what was
// read from text. A query is not repeated, which may hold a token.
func CheckAddress(server string, u *url.URL, text string) error {
	if strings.ContainsAny(text, "?#") {
		return fmt.Errorf("the address of %s has something behind its path, from ? or # on: leave that out", server)
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("the address of %s has the port %s: ports are 1 to 65535", server, port)
		}
	}
	return nil
}
