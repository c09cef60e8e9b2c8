package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/capture/frametest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/decode/anonymize"
)

const testKey = "0123456789abcdef0123456789abcdef"

// TestAnonymizeReport: analyze says the same of the copy, names aside.
func TestAnonymizeReport(t *testing.T) {
	t.Setenv(keyVariable, testKey)
	cfg := anonymize.DefaultConfig()
	cfg.Key = []byte(testKey)
	a, err := anonymize.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i, c := range capturetest.All(t) {
		// Of the large collection every third, which is a selection that has
		// nothing to do with what is in them.
		if i%3 != 0 && c.Path != filepath.Join(capturetest.Testdata(t), filepath.Base(c.Path)) {
			continue
		}
		if i%underRace != 0 {
			continue
		}
		checkReports(t, a, c.Path, filepath.Join(dir, "copy.pcapng"))
	}
}

// TestAnonymizeScenarios is the same for simulated captures, which have what the
// real ones lack: RoCEv1, native InfiniBand, PFC.
func TestAnonymizeScenarios(t *testing.T) {
	t.Setenv(keyVariable, testKey)
	a, err := anonymize.New(anonymize.Config{Key: []byte(testKey)})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "simulated.pcapng")
	for _, name := range scenarioNames() {
		if strings.HasPrefix(name, "bulk_") { // a million packets of what the others have
			continue
		}
		runOK(t, "generate", name, "-o", path)
		checkReports(t, a, path, filepath.Join(dir, "copy.pcapng"), interfaceNames(t, path)...)
	}
}

// TestAnonymizeTogether: captures of one traffic at two places, each rewritten by
// itself with the same key, go together as before.
func TestAnonymizeTogether(t *testing.T) {
	t.Setenv(keyVariable, testKey)
	a, err := anonymize.New(anonymize.Config{Key: []byte(testKey)})
	if err != nil {
		t.Fatal(err)
	}
	report := func(paths []string) any {
		b := runOK(t, append([]string{"analyze", "--format", "json"}, paths...)...)
		for _, path := range paths {
			b = bytes.ReplaceAll(b, []byte(path), []byte("PATH"))
		}
		report := readJSON(t, b).(map[string]any)
		for _, f := range report["findings"].([]any) {
			// A sample of the packets is drawn by their addresses.
			if f := f.(map[string]any); f["code"] == "copies-apart" {
				delete(f, "title")
				delete(f, "detail")
				delete(f, "evidence")
			}
		}
		return report
	}
	dir := t.TempDir()
	var before, after []string
	for _, name := range []string{"dual_vantage_write_receiver", "dual_vantage_write_sender"} {
		path, copied := capturetest.Get(t, name).Path, filepath.Join(dir, name+".pcapng")
		runOK(t, "anonymize", "-o", copied, path)
		before, after = append(before, path), append(after, copied)
	}
	if diff := cmp.Diff(names{a}.value("", report(before)), names{}.value("", report(after))); diff != "" {
		t.Errorf("- before, + after:\n%s", diff)
	}
}

func interfaceNames(t *testing.T, path string) (all []string) {
	t.Helper()
	for _, f := range frametest.Each(t, path, func(*capture.Frame) {}).Interfaces {
		if f.Name == "" {
			t.Fatalf("%s has an interface without a name", path)
		}
		all = append(all, f.Name)
	}
	return all
}

// checkReports holds the report of a capture against that of its copy, which it
// makes.
func checkReports(t *testing.T, a *anonymize.Anonymizer, path, copied string, interfaces ...string) {
	t.Helper()
	runOK(t, "anonymize", "-o", copied, path)
	report := func(path string) any {
		b := runOK(t, "analyze", "--format", "json", path)
		for i, name := range interfaces { // they have no name in the copy
			b = bytes.ReplaceAll(b, []byte(name), fmt.Append(nil, i))
		}
		return readJSON(t, bytes.ReplaceAll(b, []byte(path), []byte("PATH")))
	}
	if diff := cmp.Diff(names{a}.value("", report(path)), names{}.value("", report(copied))); diff != "" {
		t.Errorf("%s (-before +after):\n%s", path, diff)
	}
}

// runOK is what a command prints. It must end well.
func runOK(t *testing.T, args ...string) []byte {
	t.Helper()
	var out, errOut bytes.Buffer
	if code := run(context.Background(), args, nil, &out, &errOut); code != exitDone {
		t.Fatalf("%v: exit code %d, %s", args, code, errOut.String())
	}
	return out.Bytes()
}

func readJSON(t *testing.T, b []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// names makes reports comparable: it maps the addresses in one, and takes out
// what is of the file and not of the packets.
type names struct{ a *anonymize.Anonymizer }

var (
	macPattern = regexp.MustCompile(`\b[0-9a-f]{2}(:[0-9a-f]{2}){5}\b`)
	ipPattern  = regexp.MustCompile(`\b\d+\.\d+\.\d+\.\d+\b|[0-9a-f]*:[0-9a-f:]*:[0-9a-f:]*`)
	lidPattern = regexp.MustCompile(`\bLID \d+\b`)
	idPattern  = regexp.MustCompile(`\b(v1|v2|ib):(?:(vni\d+):)?([^/]+/[0-9a-fx?]+)-([^/]+/[0-9a-fx?]+)`)
)

func (n names) value(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any)
		for k, e := range v {
			out[n.text(k)] = n.value(k, e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = n.value("", e)
		}
		// What lists are sorted by are addresses at times.
		slices.SortStableFunc(out, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		return out
	case string:
		switch key {
		case "path", "format", "compression":
			return nil
		case "private_data":
			return len(v)
		}
		return n.text(v)
	}
	if key == "offset" {
		return nil
	}
	return v
}

func (n names) text(s string) string {
	// The ends of a session are in its name in the order of their addresses,
	// which a map does not keep.
	var b strings.Builder
	for {
		m := idPattern.FindStringSubmatchIndex(s)
		if m == nil {
			return b.String() + n.addresses(s)
		}
		ends := []string{n.addresses(s[m[6]:m[7]]), n.addresses(s[m[8]:m[9]])}
		slices.Sort(ends)
		b.WriteString(n.addresses(s[:m[0]]) + s[m[0]:m[6]] + strings.Join(ends, " - "))
		s = s[m[1]:]
	}
}

func (n names) addresses(s string) string {
	if n.a == nil {
		return s
	}
	s = macPattern.ReplaceAllStringFunc(s, func(s string) string {
		mac, err := net.ParseMAC(s)
		if err != nil {
			return s
		}
		return n.a.MAC(decode.MAC(mac)).String()
	})
	s = lidPattern.ReplaceAllStringFunc(s, func(s string) string {
		var lid uint16
		if _, err := fmt.Sscanf(s, "LID %d", &lid); err != nil {
			return s
		}
		return fmt.Sprintf("LID %d", n.a.LID(lid))
	})
	return ipPattern.ReplaceAllStringFunc(s, func(s string) string {
		ip, err := netip.ParseAddr(s)
		tail := ""
		if err != nil { // the colon belongs to the sentence
			ip, err = netip.ParseAddr(strings.TrimSuffix(s, ":"))
			tail = ":"
		}
		if err != nil {
			return s
		}
		return n.a.IP(ip).String() + tail
	})
}

// TestAnonymizeNames: what a capture says besides its packets is not in the
// copy, and what it counted is.
func TestAnonymizeNames(t *testing.T) {
	t.Setenv(keyVariable, testKey)
	dir := t.TempDir()
	path, copied := filepath.Join(dir, "secret.pcapng"), filepath.Join(dir, "copy.pcapng")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	received, dropped := uint64(77), uint64(5)
	inputs := []capture.Input{{Format: capture.FormatPcapNG, Comments: []string{"secret section"}, Interfaces: []capture.Interface{{
		Link: capture.LinkEthernet, Name: "secret0", Description: "secret port", Hardware: "secret card", OS: "secret system", Filter: "host secret",
		MAC: [6]byte{0x52, 0x54, 0, 's', 'e', 'c'}, Speed: 25e9, TSResol: 9, FCSLen: 4, Comments: []string{"secret interface"}, Received: &received, Dropped: &dropped,
	}}}}
	w := capture.NewWriter(file, capture.WriterConfig{Application: "secret program", Comments: []string{"secret file"}, Inputs: func() []capture.Input { return inputs }})
	frame := capture.Frame{Data: append(make([]byte, 60), "secret payload"...), Time: 1234567890123456789, OrigLen: 1500, Link: capture.LinkEthernet, Number: 1, FCSLen: 4}
	if err := errors.Join(w.WriteFrame(&frame, "secret packet"), w.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	runOK(t, "anonymize", "-o", copied, path)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(copied)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(before, []byte("sec")); n != 13 || bytes.Contains(after, []byte("sec")) {
		t.Errorf("%d secrets before, and after: %q", n, after)
	}
	src, err := capture.Open(copied, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var b capture.Batch
	if err := src.ReadBatch(&b); err != nil || len(b.Frames) != 1 {
		t.Fatalf("%d frames, %v", len(b.Frames), err)
	}
	if f := b.Frames[0]; f.Time != frame.Time || f.OrigLen != 1500 || len(f.Data) != len(frame.Data) || f.FCSLen != 4 {
		t.Errorf("the frame is %+v", f)
	}
	if err := src.ReadBatch(&b); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if face := src.Inputs()[0].Interfaces[0]; face.Speed != 25e9 || face.TSResol != 9 || *face.Received != received || *face.Dropped != dropped {
		t.Errorf("the interface is %+v", face)
	}
}
