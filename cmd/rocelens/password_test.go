package main

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// awkward is a password that looks different in a URL.
const awkward = "h:u/n%t e@r+2"

// shows says in which form a text has a password.
func shows(text, password string) string {
	for _, form := range []string{
		password, url.QueryEscape(password), url.PathEscape(password), url.UserPassword("", password).String()[1:],
		base64.StdEncoding.EncodeToString([]byte("u:" + password)),
	} {
		if strings.Contains(text, form) {
			return form
		}
	}
	return ""
}
