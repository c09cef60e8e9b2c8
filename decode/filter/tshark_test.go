package filter_test

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
)

var update = flag.Bool("update", false, "let tshark say anew which frames the filters select")

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
		[]string{""}, func(p *decode.Packet) bool { return p.Flags&decode.QuotesRoCE != 0 },
		"rocelens is right: what an ICMP error quotes is no packet, and has no fields",
	},
	{
		[]string{""}, func(p *decode.Packet) bool { return p.Flags&decode.Fragment != 0 },
		"rocelens decodes what is in the first fragment of an IP packet; tshark waits for the others",
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

// whole are captures that are compared with tshark as they are, small ones with
// much in them; and those of the large collection that others made.
var whole = []string{"rdmacm_rping", "rc_mixed_imm_psn_wrap", "ecn_ce_with_synthetic_cnp", "qinq_100_7_rc_read", "vxlan_rc_write", "iser_login_io",
	"icmp_unreachable_reject", "corrupt_send_acks", "ud_send_ipv6"}

// others are captures of the large collection, most of them others' own.
var others = []string{
	"softroce/single_atomic_ack_depth1_after.pcap.zst", "softroce/uc_loss_one_send_last.pcap.zst",
	"public/arkime-arkime/gre-erspan-vxlan.pcap", "public/mac-control-vectors/pause_pfc_vectors.pcap", "public/hwipl-smc-llc/smc_r_llc_rocev1.pcap",
	"public/zeek-zeek/mixed-vlan-mpls.pcap", "public/montybeatnik-rdma-roce-lab/roce_capture_read-write-ecn.pcap",
}

// TestAgainstTshark compares with the tshark that is here.
func TestAgainstTshark(t *testing.T) {
	capturetest.Need(t, "tshark")
	filters := readFilters(t, "testdata/filters.txt")
	paths := map[string]string{"mixed": writeMixed(t)}
	for _, name := range whole {
		paths[name] = capturetest.Get(t, name).Path
	}
	if dir, ok := capturetest.Shared(t); ok {
		for _, name := range others {
			if path := filepath.Join(dir, name); exists(path) {
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
