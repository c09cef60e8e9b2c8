package push

import (
	"context"
	"fmt"
	"maps"
	"strings"
)

// boardStep says what becomes of a board.
func (c *Client) boardStep(ctx context.Context, w Wanted, uid string) (Step, error) {
	s := Step{Kind: "board", UID: uid}
	data, err := w.Export.Board(uid)
	if err != nil {
		return s, err
	}
	all, err := readJSON(data)
	if err != nil {
		return s, err
	}
	want, err := content(all)
	if err != nil {
		return s, err
	}
	s.Title, _ = want["title"].(string)
	id, err := sum(want)
	if err != nil {
		return s, err
	}
	have, err := c.board(ctx, uid)
	if missing(err) {
		s.Action = Created
		s.do = func(ctx context.Context) error {
			return c.writeBoard(ctx, write{Board: want, FolderUID: w.Folder, Message: markBegin + id})
		}
		return s, nil
	}
	if err != nil {
		return s, err
	}
	has, err := content(have.Content)
	if err != nil {
		return s, err
	}
	inFolder, equal := have.Meta.FolderUID == w.Folder, same(has, want)
	if inFolder && equal {
		return s, nil
	}
	if have.Meta.Provisioned {
		s.Action, s.Note = Refused, "comes from a file that Grafana reads, and can only be changed there: export it again, or take the file away"
		return s, nil
	}
	last, err := c.lastSaved(ctx, uid)
	if err != nil {
		return s, err
	}
	pushed := mark.FindStringSubmatch(last.Message)
	ours := pushed != nil && last.Version.String() == have.version()
	// Grafana may write a board otherwise than it was sent; the history says what that was.
	if inFolder && ours && pushed[1] == id {
		return s, nil
	}
	s.Note = c.disturbed(have, last, !inFolder, !ours && !equal, w)
	if s.Note != "" && !w.Force {
		s.Action = Refused
		return s, nil
	}
	s.Action = Updated
	s.do = func(ctx context.Context) error {
		board := maps.Clone(want)
		// With both, Grafana refuses if somebody was faster.
		board["id"], board["version"] = have.Content["id"], have.Content["version"]
		return c.writeBoard(ctx, write{Board: board, FolderUID: w.Folder, Message: markBegin + id, Overwrite: w.Force})
	}
	return s, nil
}

// disturbed says what people did to a board since it was pushed, and what is done
// about it; nothing if they did nothing.
func (c *Client) disturbed(have *board, last saved, moved, changed bool, w Wanted) string {
	var did, does []string
	if moved {
		where := "is in no folder"
		if uid := have.Meta.FolderUID; uid != "" {
			where = fmt.Sprintf("is in the folder %s (%s)", c.way.show(uid), c.way.show(have.Meta.FolderTitle))
		}
		did, does = append(did, where), append(does, "moves it to "+w.Folder)
	}
	if changed {
		what := "was changed in Grafana"
		if last.CreatedBy != "" {
			what += fmt.Sprintf(" by %s on %s", c.way.show(last.CreatedBy), last.Created.UTC().Format("2006-01-02 15:04 MST"))
		}
		did, does = append(did, what), append(does, "overwrites it")
	}
	text := strings.Join(did, ", and ")
	switch {
	case w.Force || text == "":
		return text
	case changed:
		text += ": save what is to be kept under another name, then"
	default:
		text += ":"
	}
	return text + " --force " + strings.Join(does, " and ")
}
