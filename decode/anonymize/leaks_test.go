package anonymize_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/capture/frametest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/decode/anonymize"
)

// column is a field of tshark's, and what becomes of it.
type column struct {
	field string
	kind  kind
}

type kind uint8

const (
	same  kind = iota
	ip         // mapped as an address
	mac        // mapped as a MAC address
	zeros      // bytes that are all 0 afterwards
	gone       // mapped with a key of its own: another value afterwards
)

var columns = []column{
	{"frame.number", same}, {"frame.len", same}, {"frame.cap_len", same}, {"eth.type", same}, {"vlan.id", same}, {"ip.id", same}, {"ip.ttl", same}, {"ip.dsfield", same},
	{"ip.checksum.status", same}, {"udp.checksum.status", same}, {"tcp.checksum.status", same}, {"icmp.checksum.status", same}, {"icmpv6.checksum.status", same},
	{"udp.srcport", same}, {"udp.dstport", same}, {"udp.length", same}, {"tcp.srcport", same}, {"tcp.seq_raw", same}, {"icmp.type", same}, {"icmpv6.type", same}, {"vxlan.vni", same},
	{"erspan.spanid", same}, {"gre.sequence_number", same},
	{"infiniband.bth.opcode", same}, {"infiniband.bth.destqp", same}, {"infiniband.bth.psn", same}, {"infiniband.bth.p_key", same}, {"infiniband.deth.srcqp", same},
	{"infiniband.reth.dmalen", same}, {"infiniband.aeth.msn", same}, {"infiniband.mad.attributeid", same}, {"infiniband.cm.req.serviceid", same},
	{"infiniband.cm.req.localqpn", same}, {"infiniband.cm.req.startpsn", same}, {"infiniband.cm.rep.localqpn", same}, {"infiniband.cm.req.ip_cm.sport", same},
	{"eth.src", mac}, {"eth.dst", mac}, {"sll.src.eth", mac}, {"arp.src.hw_mac", mac}, {"arp.dst.hw_mac", mac}, {"icmpv6.opt.linkaddr", mac},
	{"ip.src", ip}, {"ip.dst", ip}, {"ipv6.src", ip}, {"ipv6.dst", ip}, {"arp.src.proto_ipv4", ip}, {"arp.dst.proto_ipv4", ip},
	{"icmpv6.nd.ns.target_address", ip}, {"icmpv6.nd.na.target_address", ip},
	{"infiniband.cm.req.prim_localgid_ipv4", ip}, {"infiniband.cm.req.prim_remotegid_ipv4", ip}, {"infiniband.cm.req.prim_localgid", ip}, {"infiniband.cm.req.prim_remotegid", ip},
	{"infiniband.cm.req.ip_cm.sip4", ip}, {"infiniband.cm.req.ip_cm.dip4", ip}, {"infiniband.cm.req.ip_cm.sip6", ip}, {"infiniband.cm.req.ip_cm.dip6", ip},
	{"infiniband.cm.req.ip_cm.private", zeros}, {"infiniband.cm.req.private", zeros}, {"infiniband.cm.rep.private", zeros}, {"infiniband.cm.rej.private", zeros}, {"data.data", zeros}, {"infiniband.atomiceth.swapdt", zeros}, {"infiniband.atomiceth.cmpdt", zeros}, {"infiniband.atomicacketh.origremdt", zeros}, {"infiniband.immdt", zeros}, {"infiniband.payload", zeros},
	{"infiniband.reth.r_key", gone}, {"infiniband.reth.va", gone}, {"infiniband.cm.req.localcaguid", gone}, {"infiniband.mad.transactionid", gone},
}

// table is what tshark says of a file, a row for each frame.
func table(t *testing.T, path string) (rows [][]string) {
	t.Helper()
	args := []string{"-T", "fields", "-E", "occurrence=a", "-E", "aggregator=;", "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"}
	for _, c := range columns {
		args = append(args, "-e", c.field)
	}
	s := bufio.NewScanner(bytes.NewReader(capturetest.RunTshark(t, path, args...)))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		rows = append(rows, strings.Split(s.Text(), "\t"))
	}
	return rows
}

// write writes the frames of a capture, rewritten, to a file.
func write(t *testing.T, a *anonymize.Anonymizer, from, to string) {
	t.Helper()
	file, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	src, err := capture.Open(from, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	w := capture.NewWriter(file, capture.WriterConfig{Inputs: src.Inputs})
	var b capture.Batch
	for src.ReadBatch(&b) == nil {
		for _, f := range b.Frames {
			f.Data = a.Frame(&f)
			if err := w.WriteFrame(&f); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// selection are captures that between them have every header, tunnel and
// message that the module's captures have.
var selection = []string{
	"any_sll2_with_mirror_duplicates", "corrupt_send_acks", "erspan2_truncated_mtu4096", "erspan2_vlan_rc_write", "formats_write_snap60", "gretap_rc_send_ipv6",
	"icmp_unreachable_reject", "link_flap", "multicast_mckey", "nak_remote_access_atomic", "qinq_100_7_rc_read", "rc_atomic_fetch_add", "rc_mixed_imm_psn_wrap",
	"rc_read_ipv6_linklocal", "rdmacm_reject", "rdmacm_rping", "rdmacm_rstream", "rdmacm_udaddy", "ud_send_ipv6", "vxlan_inner_view_rc_send_ipv6_underlay", "vxlan_rc_write",
}

// TestAgainstTshark reads captures before and after with tshark: it sees the same headers, checksums as right or wrong as before,
// addresses mapped wherever they are, and zeros for the rest.
func TestAgainstTshark(t *testing.T) {
	capturetest.Need(t, "tshark")
	for _, name := range selection {
		c := capturetest.Get(t, name)
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			a := newAnonymizer(t)
			copied := filepath.Join(t.TempDir(), "copy.pcapng")
			write(t, a, c.Path, copied)
			before, after := table(t, c.Path), table(t, copied)
			if len(before) != len(after) || len(before) == 0 {
				t.Fatalf("%d frames, then %d", len(before), len(after))
			}
			for i := range before {
				for k, col := range columns {
					if was, is := before[i][k], after[i][k]; !becomes(a, col.kind, was, is) {
						t.Errorf("frame %d: %s was %q and is %q", i+1, col.field, was, is)
					}
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

// becomes says whether the values of a field are what they should be.
func becomes(a *anonymize.Anonymizer, k kind, was, is string) bool {
	if was == "" && k == zeros { // payload that tshark took for something
		return strings.Trim(is, "0x;") == ""
	}
	if was == "" || k == same {
		return was == is
	}
	olds, news := strings.Split(was, ";"), strings.Split(is, ";")
	if len(olds) != len(news) {
		// Payload that tshark takes for something is data when it is zeros.
		return k == zeros && strings.Trim(is, "0;") == ""
	}
	for i, old := range olds {
		switch k {
		case ip:
			addr, err := netip.ParseAddr(old)
			if err != nil { // tshark writes some GIDs as bytes
				b, err := hex.DecodeString(old)
				if err != nil || len(b) != 16 {
					return false
				}
				addr = netip.AddrFrom16([16]byte(b))
			}
			if got, err := netip.ParseAddr(news[i]); err == nil && got.Unmap() == a.IP(addr) {
				continue
			}
			return false
		case mac:
			addr, err := net.ParseMAC(old)
			if err != nil || a.MAC(decode.MAC(addr)).String() != news[i] && !groupOf(addr, news[i]) {
				return false
			}
		case zeros:
			if strings.Trim(news[i], "0x:") != "" {
				return false
			}
		case gone:
			if old == news[i] && strings.Trim(old, "0x") != "" {
				return false
			}
		}
	}
	return true
}

// groupOf says whether two MAC addresses are those of groups: they go by the IP
// address.
func groupOf(was net.HardwareAddr, is string) bool {
	return was[0] == 0x33 && strings.HasPrefix(is, "33:33:") || was[0] == 1 && was[2] == 0x5e && strings.HasPrefix(is, "01:00:5e:")
}

// secrets are the bytes of a capture that may be nowhere in the copy, as tshark
// and the frames tell, each with a name.
type secrets struct {
	bytes map[string]string
	runs  map[[8]byte]bool // of payload

	byFirst [256][]int
	sorted  bool
}

// secretFields are fields whose values may not be found again.
var secretFields = []string{
	"eth.src", "eth.dst", "arp.src.hw_mac", "arp.dst.hw_mac", "icmpv6.opt.linkaddr", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "arp.src.proto_ipv4", "arp.dst.proto_ipv4",
	"infiniband.reth.r_key", "infiniband.reth.va", "infiniband.cm.req.localcaguid", "infiniband.grh.sgid", "infiniband.grh.dgid",
}

func secretsOf(t *testing.T, a *anonymize.Anonymizer, path string) *secrets {
	t.Helper()
	s := &secrets{bytes: make(map[string]string), runs: make(map[[8]byte]bool)}
	args := []string{"-T", "fields", "-E", "occurrence=a", "-E", "aggregator=;"}
	for _, f := range secretFields {
		args = append(args, "-e", f)
	}
	for line := range strings.Lines(string(capturetest.RunTshark(t, path, args...))) {
		for i, values := range strings.Split(strings.TrimSuffix(line, "\n"), "\t") {
			for _, v := range strings.Split(values, ";") {
				s.add(t, a, secretFields[i], v)
			}
		}
	}
	d := decode.New(decode.DefaultConfig())
	var p decode.Packet
	frametest.Each(t, path, func(f *capture.Frame) {
		d.Decode(f, &p)
		for _, l := range p.Layers() {
			if b := p.Bytes(l); (l.Kind == decode.LayerPayload || l.Kind == decode.LayerData) && p.Has&decode.HasMAD == 0 && p.Kind != decode.KindICMP {
				for ; len(b) >= 8; b = b[8:] {
					if run := [8]byte(b); bytes.IndexByte(run[:], 0) < 0 && run != [8]byte(bytes.Repeat(run[:1], 8)) {
						s.runs[run] = true
					}
				}
			}
		}
	})
	return s
}

// add takes a value of a field, unless it means the same everywhere.
func (s *secrets) add(t *testing.T, a *anonymize.Anonymizer, field, v string) {
	t.Helper()
	var b []byte
	switch {
	case v == "":
		return
	case strings.HasPrefix(v, "0x"):
		n, err := strconv.ParseUint(v[2:], 16, 64)
		if err != nil {
			t.Fatalf("%s: %v", field, err)
		}
		switch {
		case strings.HasSuffix(field, "r_key"):
			b = binary.BigEndian.AppendUint32(nil, uint32(n))
		case strings.HasSuffix(field, ".va"):
			b = binary.BigEndian.AppendUint64(nil, n)[:6] // its offset in a page stays
		default:
			b = binary.BigEndian.AppendUint64(nil, n)
		}
		if bytes.Count(b, []byte{0}) > len(b)/2 { // small numbers are everywhere
			return
		}
	default:
		if m, err := net.ParseMAC(v); err == nil {
			wellKnown := bytes.HasPrefix(m, []byte{0x33, 0x33, 0, 0, 0}) || bytes.HasPrefix(m, []byte{1, 0, 0x5e, 0, 0})
			if wellKnown || a.MAC(decode.MAC(m)) == decode.MAC(m) {
				return
			}
			b = m
		} else {
			ip, err := netip.ParseAddr(v)
			if err != nil {
				t.Fatalf("%s: %v", field, err)
			}
			if a.IP(ip) == ip {
				return
			}
			b = ip.AsSlice()
		}
	}
	s.bytes[string(b)] = field + " " + v
}

// TestNothingLeaks looks for every address, key and payload of captures in
// their copies, at every byte.
func TestNothingLeaks(t *testing.T) {
	capturetest.Need(t, "tshark")
	for _, name := range selection {
		c := capturetest.Get(t, name)
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			a := newAnonymizer(t, mapQPNs)
			s := secretsOf(t, a, c.Path)
			if len(s.bytes) == 0 {
				t.Fatal("the capture has no address")
			}
			before := 0
			frametest.Each(t, c.Path, func(f *capture.Frame) {
				if f.Number <= 100 { // what looks for them finds them where they are
					before += len(s.look(f.Data))
				}
				if leaks := s.look(a.Frame(f)); len(leaks) > 0 && !t.Failed() {
					t.Errorf("frame %d has %s", f.Number, strings.Join(leaks, ", "))
				}
			})
			if before < 10 {
				t.Errorf("in the first 100 packets of the capture itself %d addresses, keys and pieces of payload were found", before)
			}
		})
	}
}

// look finds secrets in a frame.
func (s *secrets) look(data []byte) (leaks []string) {
	for i := range data {
		for _, n := range s.lengths(data[i]) {
			if i+n <= len(data) {
				if what, ok := s.bytes[string(data[i:i+n])]; ok {
					leaks = append(leaks, what+" at byte "+strconv.Itoa(i))
				}
			}
		}
		if i+8 <= len(data) && data[i] != 0 && s.runs[[8]byte(data[i:])] {
			leaks = append(leaks, "payload at byte "+strconv.Itoa(i))
		}
	}
	return leaks
}

// lengths are the lengths of the secrets that begin with a byte.
func (s *secrets) lengths(first byte) []int {
	if !s.sorted {
		for b := range s.bytes {
			if l := &s.byFirst[b[0]]; !slices.Contains(*l, len(b)) {
				*l = append(*l, len(b))
			}
		}
		s.sorted = true
	}
	return s.byFirst[first]
}
