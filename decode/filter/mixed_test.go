package filter_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/decode/filter"
)

// mixed are parts of captures with between them all headers that the module's
// captures have, cut frames and other traffic. The filters are few enough, and
// so are the frames, that tshark's answers can be kept in a file that people
// can read.
var mixed = []struct {
	name     string
	from, to uint64
}{
	{"rc_write_1024", 1, 36}, {"rc_write_ipv6", 16, 30}, {"vxlan_rc_write", 1, 34}, {"erspan2_vlan_rc_write", 18, 34},
	{"qinq_100_7_rc_read", 1, 4}, {"qinq_100_7_rc_read", 20, 32}, {"rdmacm_rping", 1, 24}, {"rnr_retry_exceeded", 8, 24},
	{"ecn_ce_with_synthetic_cnp", 11, 42}, {"ecn_ce_with_synthetic_cnp", 150, 158}, {"rc_atomic_fetch_add", 20, 28}, {"ud_send_1024", 20, 28},
	{"icmp_unreachable_reject", 8, 20}, {"icmp_unreachable_reject", 1000, 1004}, {"corrupt_send_acks", 298, 301}, {"formats_write_sll2", 18, 32}, {"formats_write_sll", 18, 32}, {"corrupt_write", 18, 40}, {"corrupt_write", 50, 58},
	{"gretap_rc_send_ipv6", 1, 4}, {"gretap_rc_send_ipv6", 22, 36}, {"erspan3_rc_read", 18, 36}, {"formats_write_snap60", 18, 34},
	{"formats_write_snap96", 18, 34}, {"rc_mixed_imm_psn_wrap", 11, 60}, {"rc_mixed_imm_psn_wrap", 244, 264}, {"multicast_mckey", 1, 18}, {"nak_remote_access_read", 10, 24},
	{"erspan2_truncated_mtu4096", 18, 28}, {"uc_send_mtu512", 20, 26},
}

// writeMixed writes the mixed capture, and returns its path.
func writeMixed(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "mixed.pcapng")
	out, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	// Inputs are told apart by their number, so that each keeps its link type.
	var inputs []capture.Input
	w := capture.NewWriter(out, capture.WriterConfig{Inputs: func() []capture.Input { return inputs }})
	for i, part := range mixed {
		src, err := capture.Open(capturetest.Get(tb, part.name).Path, capture.DefaultConfig())
		if err != nil {
			tb.Fatal(err)
		}
		inputs = append(inputs, capture.Input{})
		var b capture.Batch
		for src.ReadBatch(&b) == nil {
			inputs[i] = src.Inputs()[0]
			for j := range b.Frames {
				if f := &b.Frames[j]; f.Number >= part.from && f.Number <= part.to {
					f.Input = int32(i)
					if err := w.WriteFrame(f); err != nil {
						tb.Fatal(err)
					}
				}
			}
		}
		if err := src.Close(); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	if err := out.Close(); err != nil {
		tb.Fatal(err)
	}
	return path
}

// readFilters are the filters of a file, one a line, # in front of comments.
func readFilters(tb testing.TB, path string) (filters []string) {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		if seen[line] {
			tb.Errorf("%s has %s twice", path, line)
		}
		seen[line] = true
		filters = append(filters, line)
	}
	return filters
}

// frames is a set of frame numbers, sorted.
type frames []uint64

// String writes them as ranges: 1-5 7 9-12, and with a step, 1-9/2.
func (f frames) String() string {
	var b strings.Builder
	for i := 0; i < len(f); {
		j, step := i+1, uint64(1)
		if j < len(f) {
			step = f[j] - f[i]
		}
		for j < len(f) && f[j]-f[j-1] == step {
			j++
		}
		if step > 1 && j-i < 4 { // no row
			j = i + 1
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprint(&b, f[i])
		if j > i+1 {
			fmt.Fprintf(&b, "-%d", f[j-1])
			if step > 1 {
				fmt.Fprintf(&b, "/%d", step)
			}
		}
		i = j
	}
	return b.String()
}

// packets are the frames of a capture, decoded.
type packets struct {
	list  []decode.Packet
	extra []decode.Extra
}

func load(tb testing.TB, path string) *packets {
	tb.Helper()
	src, err := capture.Open(path, capture.DefaultConfig())
	if err != nil {
		tb.Fatal(err)
	}
	ps := &packets{}
	d := decode.New(decode.DefaultConfig())
	var first, previous int64
	var b capture.Batch
	for src.ReadBatch(&b) == nil {
		in := src.Inputs()[0]
		for i := range b.Frames {
			f := b.Frames[i]
			f.Data = bytes.Clone(f.Data)
			if len(ps.list) == 0 {
				first, previous = f.Time, f.Time
			}
			ps.list = append(ps.list, decode.Packet{})
			p := &ps.list[len(ps.list)-1]
			d.Decode(&f, p)
			d.VerifyICRC(p)
			x := decode.Extra{First: first, Previous: previous, HasInterface: in.Format == capture.FormatPcapNG}
			if int(f.Interface) < len(in.Interfaces) {
				x.InterfaceName = in.Interfaces[f.Interface].Name
			}
			ps.extra = append(ps.extra, x)
			previous = f.Time
		}
	}
	if err := src.Close(); err != nil {
		tb.Fatal(err)
	}
	return ps
}

// selected are the frames that a filter matches.
func (ps *packets) selected(f *filter.Filter) (s frames) {
	for i := range ps.list {
		if f.Match(&ps.list[i], &ps.extra[i]) {
			s = append(s, ps.list[i].Frame.Number)
		}
	}
	return s
}

// expand reads what frames.String writes.
func expand(tb testing.TB, s string) (list frames) {
	tb.Helper()
	for _, w := range strings.Fields(s) {
		w, by, _ := strings.Cut(w, "/")
		from, to, isRange := strings.Cut(w, "-")
		if !isRange {
			to = from
		}
		if by == "" {
			by = "1"
		}
		n := parseFrames(tb, []string{from, to, by})
		for ; n[0] <= n[1]; n[0] += n[2] {
			list = append(list, n[0])
		}
	}
	return list
}

func parseFrames(tb testing.TB, words []string) (list frames) {
	tb.Helper()
	for _, w := range words {
		n, err := strconv.ParseUint(w, 10, 64)
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, n)
	}
	return list
}

func compiled(tb testing.TB, expr string) *filter.Filter {
	tb.Helper()
	f, err := filter.Compile(expr, time.UTC)
	if err != nil {
		tb.Fatalf("%s: %v", expr, err)
	}
	return f
}
