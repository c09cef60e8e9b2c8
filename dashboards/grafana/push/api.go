package push

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// The calls that the SDK lacks, as Grafana documents them for versions 11 to 13:
// https://grafana.com/docs/grafana/latest/developer-resources/api-reference/http-api/,
// pages dashboard, dashboard_versions and data_source. The SDK, of 2022, asks for data
// sources by number, which Grafana 13 refuses unless told otherwise, knows the folder
// of a board by number, and has no message for the history of a board.

// board is one that Grafana has.
type board struct {
	Content map[string]any `json:"dashboard"`
	Meta    struct {
		FolderUID   string `json:"folderUid"` // empty for the top
		FolderTitle string `json:"folderTitle"`
		Provisioned bool   `json:"provisioned"`
	} `json:"meta"`
}

// version is that of the board, as a number of JSON.
func (b *board) version() string {
	n, _ := b.Content["version"].(json.Number)
	return n.String()
}

func (c *Client) board(ctx context.Context, uid string) (*board, error) {
	var b board
	path := "api/dashboards/uid/" + uid
	err := c.call(ctx, http.MethodGet, path, "", nil, &b)
	if err == nil && b.Content["uid"] != uid {
		err = c.way.unexpected(http.MethodGet, path, nil)
	}
	return &b, err
}

// saved is an entry of the history of a board.
type saved struct {
	Version   json.Number `json:"version"`
	Created   time.Time   `json:"created"`
	CreatedBy string      `json:"createdBy"`
	Message   string      `json:"message"`
}

// history are the entries of an answer: Grafana 11 answers with a list, newer ones with
// an object that has it.
type history []saved

// UnmarshalJSON takes both forms.
func (h *history) UnmarshalJSON(data []byte) error {
	var list []saved
	if strings.HasPrefix(strings.TrimSpace(string(data)), "{") {
		var page struct{ Versions []saved }
		err := json.Unmarshal(data, &page)
		*h = page.Versions
		return err
	}
	err := json.Unmarshal(data, &list)
	*h = list
	return err
}

// lastSaved is the newest entry in the history of a board; empty if there is none.
func (c *Client) lastSaved(ctx context.Context, uid string) (saved, error) {
	var h history
	err := c.call(ctx, http.MethodGet, "api/dashboards/uid/"+uid+"/versions", "limit=1", nil, &h)
	if missing(err) || err == nil && len(h) == 0 {
		return saved{}, nil
	}
	if err != nil {
		return saved{}, err
	}
	return h[0], nil
}

// write is a board that is to be saved.
type write struct {
	Board     map[string]any `json:"dashboard"`
	FolderUID string         `json:"folderUid"`
	Message   string         `json:"message"`
	Overwrite bool           `json:"overwrite"`
}

func (c *Client) writeBoard(ctx context.Context, w write) error {
	return c.call(ctx, http.MethodPost, "api/dashboards/db", "", w, nil)
}

// The mark that a board's history has where push saved it, with what was saved. A board
// whose newest entry has it was not changed in Grafana since.
const markBegin = "rocelens dashboards push, content "

var mark = regexp.MustCompile(`^` + markBegin + `([0-9a-f]{32})$`)

// sum is that of what is in a board.
func sum(content map[string]any) (string, error) {
	data, err := json.Marshal(content) // keys are in order
	if err != nil {
		return "", err
	}
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:16]), nil
}

// source is a data source that Grafana has, with all its fields, so that those that are
// none of ours can be sent back.
type source map[string]any

func (s source) text(key string) string {
	v, _ := s[key].(string)
	return v
}

func (s source) is(key string) bool {
	v, _ := s[key].(bool)
	return v
}

func (s source) object(key string) map[string]any {
	v, _ := s[key].(map[string]any)
	return v
}

func (c *Client) source(ctx context.Context, uid string) (source, error) {
	var s source
	path := "api/datasources/uid/" + uid
	err := c.call(ctx, http.MethodGet, path, "", nil, &s)
	if err == nil && s.text("uid") != uid {
		err = c.way.unexpected(http.MethodGet, path, nil)
	}
	return s, err
}

func (c *Client) makeSource(ctx context.Context, s source) error {
	return c.call(ctx, http.MethodPost, "api/datasources", "", s, nil)
}

func (c *Client) changeSource(ctx context.Context, uid string, s source) error {
	return c.call(ctx, http.MethodPut, "api/datasources/uid/"+uid, "", s, nil)
}
