package grafana_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/dashboards/grafana"
	"github.com/rocelens/rocelens/dashboards/grafana/boardtest"
)

// TestDocs: the documentation has a table for each board, with all of its panels in their
// order. A row can be about several, with a comma and a space between them.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile("../../docs/dashboards.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	firstCell := regexp.MustCompile(`(?m)^\| (.+?) \|`)
	for _, uid := range grafana.UIDs() {
		b := boardtest.Parse(t, uid)
		title := strings.TrimPrefix(b.Title, "RoCE: ")
		title = strings.ToUpper(title[:1]) + title[1:]
		_, section, found := strings.Cut(doc, "\n## "+title+"\n")
		if !found {
			t.Errorf("there is nothing about %q", title)
			continue
		}
		section, _, _ = strings.Cut(section, "\n## ")
		_, table, _ := strings.Cut(section, "| panel | shows |\n|---|---|\n")
		table, _, _ = strings.Cut(table, "\n\n")
		var has, want []string
		for _, row := range firstCell.FindAllStringSubmatch(table, -1) {
			has = append(has, row[1])
		}
		for _, p := range b.Panels {
			want = append(want, p.Title)
		}
		// Titles have commas too.
		if h, w := strings.Join(has, ", "), strings.Join(want, ", "); h != w {
			t.Errorf("%s: the table has\n%s\nand the board\n%s", title, h, w)
		}
	}
}
