package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/dashboards/report"
	"github.com/rocelens/rocelens/pipeline/record"
)

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(filepath.Join(capturetest.Root(t), "docs", "report.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parse(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

// TestGoldensFollowTheSchema: the golden reports are what users have seen.
func TestGoldensFollowTheSchema(t *testing.T) {
	s := schema(t)
	paths, err := filepath.Glob(filepath.Join(capturetest.Root(t), "testdata", "golden", "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d golden reports, error %v", len(paths), err)
	}
	for _, p := range paths {
		raw, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(parse(t, raw)); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// everything is reports that between them have each key, of one capture in so
// many and of what no capture has.
func everything(t *testing.T, oneIn int) []map[string]any {
	t.Helper()
	var all []map[string]any
	add := func(r *report.Report) {
		var b bytes.Buffer
		if err := report.JSON(&b, r, report.Options{}); err != nil {
			t.Fatal(err)
		}
		all = append(all, parse(t, b.Bytes()))
	}
	for i, c := range capturetest.All(t) {
		if i%oneIn == 0 {
			add(analyze(t, c.Path))
		}
	}
	if dir, ok := capturetest.Shared(t); ok {
		for _, p := range []string{
			"mac-control-vectors/pause_pfc_vectors.pcap", "srinivaskoritala-rdma-softroce-demo/infiniband.pcap",
			"jorbo-fpga-network-stack/rocev2_hls_write_read_rawip.pcap", "the-tcpdump-group-tcpdump/erspan-type-iii-ft-7.pcap",
		} {
			add(analyze(t, filepath.Join(dir, "public", p)))
		}
	}
	add(made(full()))
	dir := t.TempDir()
	for name, content := range map[string][]byte{
		"empty.pcap": slices.Concat([]byte{0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0}, make([]byte, 8), []byte{0, 0, 4, 0, 1, 0, 0, 0}),
		"text.pcap":  []byte("not a capture"),
		"pause.pcap": pauseFile(),
		"link.pcap":  linkFile(),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		r := analyze(t, path)
		r.Partial = name == "text.pcap"
		if name == "pause.pcap" {
			one := uint64(1)
			r.Capture.MirrorLeftOut = 1
			r.Capture.MirrorMissing, r.Capture.Mirrors = &one, []report.Mirror{{Version: 2, Missing: &one, Gaps: 1, FirstGap: &report.Frame{Number: 1}}}
		}
		add(r)
	}
	return all
}

// pcapFile is a capture of frames, a millisecond apart.
func pcapFile(link byte, frames ...[]byte) []byte {
	out := slices.Concat([]byte{0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0}, make([]byte, 8), []byte{0, 0, 4, 0, link, 0, 0, 0})
	for i, f := range frames {
		n := byte(len(f))
		ms := i * 1000
		out = slices.Concat(out, []byte{1, 0, 0, 0, byte(ms), byte(ms >> 8), 0, 0, n, 0, 0, 0, n, 0, 0, 0}, f)
	}
	return out
}

// macControl is a MAC control frame of the sender 02:00:00:00:00:05.
func macControl(body ...byte) []byte {
	f := slices.Concat([]byte{1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 5, 0x88, 0x08}, body)
	return append(f, make([]byte, 60-len(f))...)
}

// pauseFile has PFC for the priorities 3 and 4, a resume of 3, and a PAUSE.
func pauseFile() []byte {
	return pcapFile(1,
		macControl(1, 1, 0, 0x18, 0, 0, 0, 0, 0, 0, 0, 100, 0xff, 0xff),
		macControl(1, 1, 0, 0x08, 0, 0, 0, 0, 0, 0, 0, 60),
		macControl(1, 1, 0, 0x08),
		macControl(0, 1, 0, 7),
	)
}

func linkFile() []byte { return pcapFile(147, []byte{1, 2, 3}) }

// TestReportsFollowTheSchema: so does the report of every capture. Between
// them they have every key of the schema, so that each was tried.
func TestReportsFollowTheSchema(t *testing.T) {
	s := schema(t)
	seen := make(map[string]bool)
	for _, r := range everything(t, 1) {
		if err := s.Validate(r); err != nil {
			t.Errorf("%v: %v", r["inputs"], err)
		}
		walk(r, "", func(path string, _ map[string]any, _ string) { seen[path] = true })
	}
	for _, p := range []string{"partial", "inputs[].damage", "capture.first_malformed", "capture.mirrors[].first_gap.number", "capture.unknown_link_types.147", "pause[].priority", "findings[].evidence.first"} {
		if !seen[p] {
			t.Errorf("no report has %s", p)
		}
	}
}

// walk visits each key of v's objects; the path has no indices.
func walk(v any, path string, visit func(path string, in map[string]any, key string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			at := strings.TrimPrefix(path+"."+k, ".")
			child := v[k]
			visit(at, v, k)
			walk(child, at, visit)
		}
	case []any:
		for _, e := range v {
			walk(e, path+"[]", visit)
		}
	}
}

// TestWrongReportsFail takes away each key in turn, and gives it another type:
// the schema has to notice.
func TestWrongReportsFail(t *testing.T) {
	s := schema(t)
	optional := map[string]bool{
		"partial": true, "vcrc": true, "pause_left_out": true, "inputs[].damage": true, "capture.first_malformed": true, "capture.mirrors": true, "capture.mirrors[].first_gap": true, "capture.mirror_frames_left_out": true,
		"capture.unknown_link_types": true, "icrc.unverifiable_reasons": true, "icrc.first_bad": true,
		"vcrc.unverifiable_reasons": true, "vcrc.first_bad": true,
		"sessions[].cm": true, "sessions[].vni": true, "sessions[].failed_stream": true, "sessions[].failed_why": true, "sessions[].one_sided": true, "sessions[].cm.source_port": true,
		"sessions[].cm.dest_port": true, "sessions[].cm.reject_reason": true, "sessions[].cm.private_data": true, "expected_counters[].vni": true, "findings[].related": true,
	}
	for _, way := range []string{"a_to_b", "b_to_a"} {
		optional["sessions[]."+way+".source_port"] = true
		for _, key := range []string{"congestion", "time_spent", "message_latency_by_kind_ns", "cnp_dscp", "vlan_priorities", "p_keys"} {
			optional["sessions[]."+way+"."+key] = true
		}
	}
	counts := []string{
		"opcodes.", "capture.other_kinds.", "capture.unknown_link_types.", "icrc.unverifiable_reasons.", "findings[].evidence.",
		"sessions[].a_to_b.dscp.", "sessions[].b_to_a.dscp.", "sessions[].a_to_b.message_latency_by_kind_ns.", "sessions[].b_to_a.message_latency_by_kind_ns.",
		"expected_counters[].counters.", "expected_counters[].rxe.",
		"sessions[].a_to_b.cnp_dscp.", "sessions[].b_to_a.cnp_dscp.", "sessions[].a_to_b.vlan_priorities.", "sessions[].b_to_a.vlan_priorities.",
		"sessions[].a_to_b.p_keys.", "sessions[].b_to_a.p_keys.",
	}
	tried := make(map[string]bool)
	n := 0
	for _, r := range everything(t, 10) {
		for _, key := range []string{"sessions", "events"} { // a few show it as well
			list := r[key].([]any)
			r[key] = list[:min(len(list), 3)]
		}
		walk(r, "", func(path string, in map[string]any, key string) {
			// A key of evidence is free, and so is what is inside.
			free := strings.HasPrefix(path, "findings[].evidence.") && path != "findings[].evidence.first" && path != "findings[].evidence.share"
			if in["kind"] != nil && !slices.Contains(common, key) {
				return // TestEventKinds has the figures of events
			}
			if tried[path] || free || strings.HasPrefix(path, "findings[].evidence.first.") {
				return
			}
			tried[path] = true
			was := in[key]
			if !optional[path] && !slices.ContainsFunc(counts, func(p string) bool { return strings.HasPrefix(path, p) }) {
				delete(in, key)
				n++
				if s.Validate(r) == nil {
					t.Errorf("%s may be missing", path)
				}
			}
			var wrong any = map[string]any{"": true}
			switch was.(type) {
			case map[string]any, []any:
				wrong = "text"
			case json.Number:
				wrong = json.Number("-1.5")
			}
			in[key] = wrong
			n++
			if s.Validate(r) == nil {
				t.Errorf("%s may be %v", path, fmt.Sprint(wrong))
			}
			in[key] = was
		})
	}
	if n < 200 {
		t.Errorf("only %d reports were spoilt", n)
	}
}

// TestFailures: the schema has the reasons why sessions fail.
func TestFailures(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(capturetest.Root(t), "docs", "report.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	quoted := make([]string, 0, len(record.FailureNames()))
	for _, name := range record.FailureNames() {
		quoted = append(quoted, `"`+name+`"`)
	}
	if want := `"failed_why": {"enum": [` + strings.Join(quoted, ", ") + `]`; !bytes.Contains(raw, []byte(want)) {
		t.Errorf("without %s", want)
	}
}
