package filter_test

import (
	"bufio"
	"bytes"
	"flag"
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

var update = flag.Bool("update", false, "let tshark say anew which frames the filters select")

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
	{"icmp_unreachable_reject", 8, 20}, {"formats_write_sll2", 18, 32}, {"formats_write_sll", 18, 32}, {"corrupt_write", 18, 40}, {"corrupt_write", 50, 58},
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

// asked has tshark apply many filters in one run: each is a tap of its own,
// which is compiled and applied as -Y is (TestTaps).
const asked = `
local file = os.getenv("ROCELENS_FILTERS")
for line in io.lines(file) do
	local ok, tap = pcall(Listener.new, "frame", line)
	if ok then
		local list = {}
		function tap.packet(p) list[#list + 1] = p.number end
		function tap.draw() print("\1" .. line .. "\1" .. table.concat(list, " ")) end
	end
end
`

// tshark is which frames tshark selects with each of the filters; those that it
// refuses are missing.
func tshark(tb testing.TB, path string, filters []string) map[string]frames {
	tb.Helper()
	dir := tb.TempDir()
	script, list := filepath.Join(dir, "asked.lua"), filepath.Join(dir, "filters")
	for file, text := range map[string]string{script: asked, list: strings.Join(filters, "\n") + "\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	tb.Setenv("ROCELENS_FILTERS", list)
	out := capturetest.RunTshark(tb, path, "-q", "-X", "lua_script:"+script)
	selected := map[string]frames{}
	sc := bufio.NewScanner(bytes.NewReader(out))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		parts := strings.Split(sc.Text(), "\x01")
		if len(parts) != 3 {
			continue // that a filter is refused
		}
		selected[parts[1]] = parseFrames(tb, strings.Fields(parts[2]))
	}
	if len(selected) == 0 {
		tb.Fatal("tshark has answered nothing: it needs Lua, and the right to run scripts")
	}
	return selected
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

// difference is one between tshark and rocelens: in filters that use something,
// and in some packets alone.
type difference struct {
	uses  []string // any of these is in the filter
	where func(p *decode.Packet) bool
	why   string
}

const opRCSendOnly decode.Opcode = 0x04

var differences = []difference{
	{
		[]string{"data", "frame.protocols"}, (*decode.Packet).Truncated,
		"rocelens is right: tshark gives up at packets that the capture or a mirror cut, and calls them malformed; what is there of the payload is data",
	},
	{
		[]string{"data", "frame.protocols"}, func(p *decode.Packet) bool { return p.PayloadLen > 0 && !p.Truncated() && p.PadCount == 0 },
		"tshark hands payloads to other protocols, and often to a wrong one (RPC over RDMA); rocelens leaves them as data",
	},
	{
		[]string{"data", "frame.protocols"}, func(p *decode.Packet) bool { return !p.RoCE() },
		"tshark knows more protocols: what they carry is no data there (ICMP's quotation, IGMP, MLD)",
	},
	{
		[]string{"data", "frame.protocols"}, func(p *decode.Packet) bool { return p.PadCount > 0 },
		"rocelens is right: tshark takes the pad for a part of the payload",
	},
	{
		[]string{"infiniband.invariant.crc"}, (*decode.Packet).Truncated,
		"rocelens is right: tshark calls the last four bytes of a packet that a mirror cut its ICRC",
	},
	{
		[]string{"infiniband.invariant.crc"}, func(p *decode.Packet) bool { return p.Opcode == decode.OpCNP },
		"rocelens is right: a CNP has an ICRC too, and tshark does not know this opcode",
	},
	{
		[]string{"infiniband.invariant.crc"}, func(p *decode.Packet) bool {
			return p.Opcode == opRCSendOnly && p.PayloadLen < 16
		},
		"rocelens is right: tshark takes a short SEND for RPC over RDMA, calls it malformed and shows no ICRC",
	},
}

// explained says which difference a frame in one selection alone is, or -1.
func explained(expr string, p *decode.Packet) int {
	for i, d := range differences {
		for _, use := range d.uses {
			if strings.Contains(expr, use) && d.where(p) {
				return i
			}
		}
	}
	return -1
}

// compare compares what is selected, and notes which differences were met.
func (ps *packets) compare(t *testing.T, name, expr string, ours, theirs frames, met []int) {
	t.Helper()
	only := map[uint64]int{}
	for _, n := range ours {
		only[n]++
	}
	for _, n := range theirs {
		only[n]--
	}
	var more, less frames
	for i := range ps.list {
		p := &ps.list[i]
		n := p.Frame.Number
		if only[n] == 0 {
			continue
		}
		if why := explained(expr, p); why >= 0 {
			met[why]++
			continue
		}
		if only[n] > 0 {
			more = append(more, n)
		} else {
			less = append(less, n)
		}
	}
	if len(more)+len(less) > 0 {
		t.Errorf("%s: %s\n  rocelens alone: %s\n  tshark alone: %s", name, expr, more, less)
	}
}

func compiled(tb testing.TB, expr string) *filter.Filter {
	tb.Helper()
	f, err := filter.Compile(expr, time.UTC)
	if err != nil {
		tb.Fatalf("%s: %v", expr, err)
	}
	return f
}

const answers = "testdata/tshark.txt"

// TestSelection compares what the filters select with what tshark 4.0 does, as
// it was written down. With -update tshark is asked anew.
func TestSelection(t *testing.T) {
	filters := readFilters(t, "testdata/filters.txt")
	if len(filters) < 150 {
		t.Errorf("only %d filters", len(filters))
	}
	path := writeMixed(t)
	if *update {
		var b bytes.Buffer
		b.WriteString("# Which frames of the mixed capture tshark 4.0 selects with each filter. Made by\n# go test ./decode/filter -run Selection -update, and read by a person.\n")
		theirs := tshark(t, path, filters)
		for _, expr := range filters {
			list, ok := theirs[expr]
			if !ok {
				t.Errorf("tshark refuses %s", expr)
			}
			fmt.Fprintf(&b, "%s\t%s\n", expr, list)
		}
		if err := os.WriteFile(answers, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(answers)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]frames{}
	for line := range strings.Lines(string(text)) {
		if line[0] == '#' {
			continue
		}
		expr, ranges, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		known[expr] = expand(t, ranges)
	}
	ps := load(t, path)
	met := make([]int, len(differences))
	for _, expr := range filters {
		theirs, ok := known[expr]
		if !ok {
			t.Errorf("%s has no answer of tshark's (go test ./decode/filter -run Selection -update)", expr)
			continue
		}
		ps.compare(t, "mixed", expr, ps.selected(compiled(t, expr)), theirs, met)
	}
	for i, n := range met {
		if n == 0 {
			t.Errorf("no filter shows that %s", differences[i].why)
		}
	}
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

// whole are captures that are compared with tshark as they are, small ones with
// much in them; and those of the large collection that others made.
var whole = []string{"rdmacm_rping", "rc_mixed_imm_psn_wrap", "ecn_ce_with_synthetic_cnp", "qinq_100_7_rc_read", "vxlan_rc_write", "iser_login_io"}

// TestAgainstTshark compares with the tshark that is here.
func TestAgainstTshark(t *testing.T) {
	capturetest.Need(t, "tshark")
	filters := readFilters(t, "testdata/filters.txt")
	paths := map[string]string{"mixed": writeMixed(t)}
	for _, name := range whole {
		paths[name] = capturetest.Get(t, name).Path
	}
	if dir, ok := capturetest.Shared(t); ok {
		for _, name := range []string{"softroce/rc_bidir_mixed_8qp", "softroce/nak_remote_access_atomic", "softroce-fabric/vlan_two_prio_clean_sw2A"} {
			if path := filepath.Join(dir, name+".pcap.zst"); exists(path) {
				paths[name] = path
			}
		}
	}
	met := make([]int, len(differences))
	for name, path := range paths {
		theirs := tshark(t, path, filters)
		ps := load(t, path)
		for _, expr := range filters {
			list, ok := theirs[expr]
			if !ok {
				t.Errorf("tshark refuses %s", expr)
				continue
			}
			ps.compare(t, name, expr, ps.selected(compiled(t, expr)), list, met)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestTaps: the taps by which tshark is asked select what -Y does.
func TestTaps(t *testing.T) {
	capturetest.Need(t, "tshark")
	filters := []string{"infiniband.bth.psn % 2 == 1", "not ip.addr == 10.10.0.1", "eth.addr[0:3] == 52:54:00", "count(ip.addr#2) == 2"}
	path := writeMixed(t)
	taps := tshark(t, path, filters)
	for _, expr := range filters {
		out := capturetest.RunTshark(t, path, "-Y", expr, "-T", "fields", "-e", "frame.number")
		if list := parseFrames(t, strings.Fields(string(out))); list.String() != taps[expr].String() || len(list) == 0 {
			t.Errorf("%s: -Y selects %s, the tap %s", expr, list, taps[expr])
		}
	}
}
