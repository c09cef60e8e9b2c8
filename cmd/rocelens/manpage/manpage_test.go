package manpage_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/rocelens/rocelens/cmd/rocelens/manpage"
)

func tree() *cobra.Command {
	root := &cobra.Command{Use: "tool", Short: "RoCE and more", Long: "tool is\n.one.\n\n  kept  as\n  it is"}
	run := func(*cobra.Command, []string) {}
	sub := &cobra.Command{Use: "do FILE...", Short: "Do it: don't ask", Example: `  tool do C:\x -`, Run: run}
	sub.Flags().SortFlags = false
	sub.Flags().StringP("out-put", "o", "", "write to `FILE`, not \"here\"")
	sub.Flags().Int("times", 3, "do it `N` times")
	sub.Flags().Bool("secret", false, "not told")
	if err := sub.Flags().MarkHidden("secret"); err != nil {
		panic(err)
	}
	root.AddCommand(sub, &cobra.Command{Use: "hidden", Hidden: true, Run: run})
	return root
}

func TestWriteAll(t *testing.T) {
	dir := t.TempDir()
	if err := manpage.WriteAll(dir, tree(), "2026-01-02", "tool 1.0"); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"tool.1": `.TH "TOOL" 1 "2026\-01\-02" "tool 1.0"
.SH NAME
tool \- RoCE and more
.SH SYNOPSIS
.nf
tool
.fi
.SH DESCRIPTION
tool is
\&.one.
.PP
.nf
  kept  as
  it is
.fi
.SH OPTIONS
.TP
\fB\-h\fR, \fB\-\-help\fR
help for tool
.SH COMMANDS
.TP
.BR "tool\-do" (1)
Do it: don\(aqt ask
`,
		"tool-do.1": `.TH "TOOL\-DO" 1 "2026\-01\-02" "tool 1.0"
.SH NAME
tool\-do \- do it: don\(aqt ask
.SH SYNOPSIS
.nf
tool do FILE... [flags]
.fi
.SH DESCRIPTION
Do it: don\(aqt ask.
.SH OPTIONS
.TP
\fB\-o\fR, \fB\-\-out\-put\fR \fIFILE\fR
write to FILE, not "here"
.TP
\fB\-\-times\fR \fIN\fR
do it N times (default 3)
.TP
\fB\-h\fR, \fB\-\-help\fR
help for do
.SH EXAMPLES
.nf
  tool do C:\ex \-
.fi
.SH SEE ALSO
.BR "tool" (1)
`,
	}
	got := make(map[string]string)
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		got[filepath.Base(p)] = string(text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestNowhere: a page that can't be written is an error.
func TestNowhere(t *testing.T) {
	err := manpage.WriteAll(filepath.Join(t.TempDir(), "none"), tree(), "", "")
	if err == nil || !strings.Contains(err.Error(), "tool.1") {
		t.Errorf("%v", err)
	}
}
