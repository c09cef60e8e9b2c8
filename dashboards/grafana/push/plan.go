package push

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/grafana-tools/sdk"

	"github.com/rocelens/rocelens/dashboards/grafana"
	"github.com/rocelens/rocelens/storage/dsn"
)

// Wanted is what should be in Grafana.
type Wanted struct {
	// Export has the data sources, with user and password.
	Export *grafana.Export
	// Folder is the UID of the folder of the boards. The one of grafana.FolderUID is made
	// if it is not there, another is not.
	Folder string
	// Force overwrites boards that somebody changed in Grafana, brings back those that were
	// moved, and sends passwords anew.
	Force bool
}

// Action is what becomes of something.
type Action uint8

// What becomes of folder, data sources and boards.
const (
	Unchanged Action = iota // is as it should be
	Created
	Updated
	Kept    // is otherwise, and not ours to change; it will do
	Refused // is otherwise, and somebody has to decide
)

// Step is a folder, a data source or a board, and what becomes of it.
type Step struct {
	Kind   string // folder, data source, board
	UID    string
	Title  string
	Action Action
	// Note says more, if there is more to say: why it is refused, say.
	Note string

	do func(context.Context) error // nil where nothing is to be done
}

// about is an error of a step, with its name where Grafana speaks of it alone.
func (s *Step) about(err error) error {
	if err == nil {
		return nil
	}
	err = plain(err)
	var e *Error
	if errors.As(err, &e) && e.grafana && e.Status != http.StatusUnauthorized {
		return fmt.Errorf("%s %s: %w", s.Kind, s.UID, err)
	}
	return err
}

// Plan is what a push does.
type Plan struct {
	Grafana string // version; empty where Grafana hides it
	Steps   []Step
}

var uidForm = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)

// Plan asks Grafana what it has, and says what is to be done. It changes nothing.
func (c *Client) Plan(ctx context.Context, w Wanted) (*Plan, error) {
	if !uidForm.MatchString(w.Folder) || w.Folder == "general" {
		return nil, fmt.Errorf("%q is no UID of a folder that boards could be in: it is in the folder's address, behind /dashboards/f/", w.Folder)
	}
	sources, err := w.Export.Sources()
	if err != nil {
		return nil, err
	}
	c.way.secrets = nil
	for _, s := range sources {
		for _, secret := range s.Secrets {
			c.way.secrets = append(c.way.secrets, dsn.NewSecret(secret))
		}
	}
	version, err := c.version(ctx)
	if err != nil {
		return nil, err
	}
	p := &Plan{Grafana: version}
	add := func(s Step, err error) error {
		p.Steps = append(p.Steps, s)
		return s.about(err)
	}
	if err := add(c.folder(ctx, w)); err != nil {
		return nil, err
	}
	for _, s := range sources {
		if err := add(c.dataSource(ctx, w, s)); err != nil {
			return nil, err
		}
	}
	for _, uid := range grafana.UIDs() {
		if err := add(c.boardStep(ctx, w, uid)); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// version is that of Grafana; empty where Grafana hides it. What answers otherwise than Grafana
// does is an error.
func (c *Client) version(ctx context.Context) (string, error) {
	health, err := c.sdk.GetHealth(ctx)
	switch {
	case err != nil:
		return "", c.way.ofSDK(http.MethodGet, "api/health", err)
	case health.Version == "" && health.Database == "": // the latter it never hides
		return "", c.way.unexpected(http.MethodGet, "api/health", nil)
	}
	return c.way.show(health.Version), nil
}

// Old says that this Grafana is older than the boards are made for.
func (p *Plan) Old() bool {
	have, want := majorMinor(p.Grafana), majorMinor(grafana.GrafanaVersion)
	return have != nil && slices.Compare(have, want) < 0
}

// majorMinor are the first two numbers of a version, nil if it has none.
func majorMinor(version string) []int {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return nil
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	if err1 != nil || err2 != nil {
		return nil
	}
	return []int{major, minor}
}

// Refused is an error for each step that somebody has to decide about.
func (p *Plan) Refused() []error {
	var all []error
	for _, s := range p.Steps {
		if s.Action == Refused {
			all = append(all, fmt.Errorf("%s %s %s", s.Kind, s.UID, s.Note))
		}
	}
	return all
}

// Apply does what is to be done, and tells each step once it is true. It does nothing
// at all if a step is refused.
func (p *Plan) Apply(ctx context.Context, done func(Step) error) error {
	if refused := p.Refused(); len(refused) > 0 {
		return errors.Join(refused...)
	}
	for _, s := range p.Steps {
		if s.do != nil {
			if err := s.do(ctx); err != nil {
				return s.about(err)
			}
		}
		if err := done(s); err != nil {
			return err
		}
	}
	return nil
}

// folder says what becomes of the folder.
func (c *Client) folder(ctx context.Context, w Wanted) (Step, error) {
	s := Step{Kind: "folder", UID: w.Folder, Title: grafana.FolderTitle}
	f, err := c.sdk.GetFolderByUID(ctx, w.Folder)
	switch {
	case err == nil && f.UID != w.Folder:
		return s, c.way.unexpected(http.MethodGet, "api/folders/"+w.Folder, nil)
	case err == nil:
		s.Title = c.way.show(f.Title)
	case !missing(err):
		return s, c.way.ofSDK(http.MethodGet, "api/folders/"+w.Folder, err)
	case w.Folder != grafana.FolderUID:
		s.Action, s.Title, s.Note = Refused, "", "is not there: make it in Grafana, or name none, and the folder "+grafana.FolderTitle+" is made"
	default:
		s.Action, s.do = Created, func(ctx context.Context) error {
			_, err := c.sdk.CreateFolder(ctx, sdk.Folder{UID: w.Folder, Title: grafana.FolderTitle})
			return c.way.ofSDK(http.MethodPost, "api/folders", err)
		}
	}
	return s, nil
}
