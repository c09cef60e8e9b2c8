package anonymize_test

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/decode/anonymize"
)

const tries = 50_000

func random(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// common is how many leading bits two addresses have in common.
func common(a, b netip.Addr) int {
	x, y := a.AsSlice(), b.AsSlice()
	for i := range x {
		if d := x[i] ^ y[i]; d != 0 {
			return 8*i + bits.LeadingZeros8(d)
		}
	}
	return 8 * len(x)
}

// near is an address that has n bits in common with a, and is random from
// there on.
func near(r *rand.Rand, a netip.Addr, n int) netip.Addr {
	b := a.AsSlice()
	for i := n; i < 8*len(b); i++ {
		if bit := byte(0x80) >> (i % 8); i == n || r.IntN(2) == 0 {
			b[i/8] ^= bit
		}
	}
	c, _ := netip.AddrFromSlice(b)
	return c
}

// TestPrefixes: two addresses have exactly as many leading bits in common after
// as before, wherever they are. So no two become the same.
func TestPrefixes(t *testing.T) {
	r := random(t)
	a := newAnonymizer(t)
	starts := []string{
		"0.0.0.0", "10.0.0.1", "10.255.255.255", "11.0.0.0", "100.64.1.1", "127.0.0.1", "128.0.0.1", "169.254.3.4", "172.16.0.1", "172.31.9.9", "172.32.0.1",
		"192.168.0.1", "192.169.0.1", "8.8.8.8", "224.0.0.1", "224.0.1.1", "239.1.2.3", "232.9.9.9", "250.1.1.1", "255.255.255.255",
		"::", "::1", "::2", "64:ff9b::1.2.3.4", "64:ff9b:1::", "2001:db8::1", "2001:db8::211:22ff:fe33:4455", "fd00:10::1", "fc00::1", "fe80::1",
		"fe80::211:22ff:fe33:4455", "fe80::211:22ff:fd33:4455", "fe80:1::1", "fec0::1", "ff02::1", "ff02::1:ff12:3456", "ff02::1:2", "ff0e::ffff:e001:203", "ff15::9", "::fffe:0:0", "1::",
	}
	for range tries {
		var x netip.Addr
		switch r.IntN(3) {
		case 0:
			x = netip.MustParseAddr(starts[r.IntN(len(starts))])
		case 1:
			x = netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, r.Uint32())))
		default:
			x = netip.AddrFrom16([16]byte(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, r.Uint64()), r.Uint64()))).Unmap()
		}
		y := near(r, x, r.IntN(x.BitLen())).Unmap()
		if x.Is4() != y.Is4() { // one is IPv4-mapped: together they are IPv6
			x, y = netip.AddrFrom16(x.As16()), netip.AddrFrom16(y.As16())
		}
		mx, my := a.IP(x), a.IP(y)
		if !x.Is4() {
			mx, my = netip.AddrFrom16(mx.As16()), netip.AddrFrom16(my.As16())
		}
		if common(x, y) != common(mx, my) {
			t.Fatalf("%v and %v have %d bits in common, %v and %v have %d", x, y, common(x, y), mx, my, common(mx, my))
		}
	}
}

// TestSpecialRanges: what is special in an address stays.
func TestSpecialRanges(t *testing.T) {
	r := random(t)
	for _, c := range []struct {
		in    string
		fixed bool
	}{
		{"0.0.0.0/32", true}, {"255.255.255.255/32", true}, {"127.0.0.0/8", true}, {"224.0.0.0/24", true},
		{"10.0.0.0/8", false}, {"172.16.0.0/12", false}, {"192.168.0.0/16", false}, {"169.254.0.0/16", false}, {"100.64.0.0/10", false},
		{"224.0.0.0/4", false}, {"239.0.0.0/8", false}, {"232.0.0.0/8", false},
		{"::/128", true}, {"::1/128", true}, {"ff02::1/128", true}, {"ff02::16/128", true}, {"ff02::fb/128", true}, {"ff02::1:2/128", true},
		{"fe80::/10", false}, {"fe80::/64", false}, {"fc00::/8", false}, {"fd00::/8", false}, {"ff00::/8", false}, {"ff15::/16", false}, {"ff02::1:ff00:0/104", false},
		{"2000::/3", false}, {"64:ff9b::/96", false},
	} {
		p := netip.MustParsePrefix(c.in)
		moved := false
		for range 200 {
			x := p.Addr()
			if p.Bits() < x.BitLen() {
				x = near(r, x, p.Bits()+r.IntN(x.BitLen()-p.Bits()))
			}
			if !p.Contains(x) {
				t.Fatalf("%v is not in %v", x, p)
			}
			a := newAnonymizer(t, func(cfg *anonymize.Config) { cfg.Key = binary.BigEndian.AppendUint64(make([]byte, 16), r.Uint64()) })
			y := a.IP(x)
			if !p.Contains(y) || c.fixed && x != y {
				t.Errorf("%v of %v becomes %v", x, p, y)
			}
			moved = moved || x != y
		}
		if !c.fixed && !moved {
			t.Errorf("no address of %v becomes another", p)
		}
	}
	// And no other address becomes one of them.
	a := newAnonymizer(t)
	special := func(x netip.Addr) bool {
		return x.IsPrivate() || x.IsLoopback() || x.IsLinkLocalUnicast() || x.IsMulticast() || x.IsUnspecified()
	}
	for range tries {
		x := netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, r.Uint32())))
		if special(x) != special(a.IP(x)) {
			t.Fatalf("%v becomes %v", x, a.IP(x))
		}
	}
}

// TestMACs: groups, local addresses and special ones stay what they are, and no
// two addresses become the same.
func TestMACs(t *testing.T) {
	r := random(t)
	a := newAnonymizer(t)
	for _, s := range []decode.MAC{
		{}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, {0x01, 0x80, 0xc2, 0, 0, 1}, {0x01, 0x80, 0xc2, 0, 0, 0x0e},
		{0x01, 0x00, 0x0c, 0xcc, 0xcc, 0xcc}, {0x01, 0x1b, 0x19, 0, 0, 0},
	} {
		if got := a.MAC(s); got != s {
			t.Errorf("%v becomes %v", s, got)
		}
	}
	seen := make(map[decode.MAC]decode.MAC)
	for range tries {
		var m decode.MAC
		binary.BigEndian.PutUint32(m[:], r.Uint32())
		binary.BigEndian.PutUint16(m[4:], uint16(r.Uint32()))
		prefix := 0
		switch r.IntN(4) {
		case 0:
			m[0], m[1], prefix = 0x33, 0x33, 2
		case 1:
			m[0], m[1], m[2], prefix = 0x01, 0x00, 0x5e, 3
			m[3] &= 0x7f
		}
		got := a.MAC(m)
		if string(got[:prefix]) != string(m[:prefix]) || got[0]&3 != m[0]&3 || prefix == 3 && got[3] > 0x7f {
			t.Fatalf("%v becomes %v", m, got)
		}
		if before, ok := seen[got]; ok && before != m {
			t.Fatalf("%v and %v become %v", before, m, got)
		}
		seen[got] = m
	}
}

// TestEUI64: an address that is made of a MAC address is so afterwards, of the
// MAC address as it is then (RFC 4291, appendix A).
func TestEUI64(t *testing.T) {
	r := random(t)
	a := newAnonymizer(t)
	made := func(prefix uint64, m decode.MAC) netip.Addr {
		b := binary.BigEndian.AppendUint64(nil, prefix)
		return netip.AddrFrom16([16]byte(append(b, m[0]^2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5])))
	}
	for range 1000 {
		var m decode.MAC
		binary.BigEndian.PutUint32(m[:], r.Uint32()&^(1<<24))
		binary.BigEndian.PutUint16(m[4:], uint16(r.Uint32()))
		if got, want := a.IP(made(0xfe80<<48, m)), made(0xfe80<<48, a.MAC(m)); got != want {
			t.Fatalf("%v becomes %v, not %v", m, got, want)
		}
		const prefix = 0xfd00001000000000
		got, want := a.IP(made(prefix, m)).As16(), made(0, a.MAC(m)).As16()
		if string(got[8:]) != string(want[8:]) {
			t.Fatalf("%v becomes %x, not %x", m, got, want)
		}
	}
}

// TestMapped4: an IPv4 address is the same one as a GID.
func TestMapped4(t *testing.T) {
	a := newAnonymizer(t)
	for _, s := range []string{"10.10.0.1", "192.168.7.9", "8.8.8.8"} {
		four := netip.MustParseAddr(s)
		if got := a.IP(netip.AddrFrom16(four.As16())); got != a.IP(four) || got == four {
			t.Errorf("%v becomes %v, and %v as a GID", four, a.IP(four), got)
		}
	}
}

// TestLIDs goes through all of them.
func TestLIDs(t *testing.T) {
	a := newAnonymizer(t)
	var seen [1 << 16]bool
	moved := 0
	for v := range seen {
		lid := uint16(v)
		got := a.LID(lid)
		if seen[got] || got>>14 == 3 != (lid>>14 == 3) || (lid == 0 || lid == 0xffff) && got != lid {
			t.Fatalf("LID %d becomes %d", lid, got)
		}
		if seen[got] = true; got != lid {
			moved++
		}
	}
	if moved < 60_000 {
		t.Errorf("%d LIDs become others", moved)
	}
}

// TestQPNs: they stay unless asked for, and then no two become the same.
func TestQPNs(t *testing.T) {
	a, m := newAnonymizer(t), newAnonymizer(t, mapQPNs)
	seen := make(map[uint32]bool)
	for q := uint32(0); q < 1<<24; q += 251 {
		got := m.QPN(q)
		if a.QPN(q) != q || seen[got] || got >= 1<<24 || q <= 1 && got != q {
			t.Fatalf("QP %#x becomes %#x", q, got)
		}
		seen[got] = true
	}
	if m.QPN(0xffffff) != 0xffffff {
		t.Error("the QP of multicast becomes another")
	}
}

// TestMemory: within what an R_Key stands for differences stay, and offsets in
// a page.
func TestMemory(t *testing.T) {
	r := random(t)
	a := newAnonymizer(t)
	keys := make(map[uint32]uint32)
	for range tries {
		k, va, step := r.Uint32(), r.Uint64(), r.Uint64()>>r.IntN(64)
		k1, v1 := a.Memory(k, va)
		k2, v2 := a.Memory(k, va+step)
		if k1 != k2 || v2-v1 != step || v1%4096 != va%4096 {
			t.Fatalf("R_Key %#x: %#x and %#x become %#x and %#x", k, va, va+step, v1, v2)
		}
		if before, ok := keys[k1]; ok && before != k {
			t.Fatalf("R_Keys %#x and %#x become %#x", before, k, k1)
		}
		keys[k1] = k
	}
	if k, _ := a.Memory(0, 0); k != 0 {
		t.Errorf("no R_Key becomes %#x", k)
	}
}

// TestKeys: the key alone decides. The figures are those of the first release:
// if they change, files of before and after no longer agree.
func TestKeys(t *testing.T) {
	a, b := newAnonymizer(t), newAnonymizer(t)
	other := newAnonymizer(t, func(cfg *anonymize.Config) { cfg.Key = append([]byte{'x'}, key...) })
	x := netip.MustParseAddr("10.10.0.1")
	v6 := netip.MustParseAddr("fd00:10::1")
	mac := decode.MAC{0x52, 0x54, 0, 0, 0, 1}
	if a.IP(x) != b.IP(x) || a.IP(x) == other.IP(x) || a.IP(v6) == other.IP(v6) || a.MAC(mac) == other.MAC(mac) {
		t.Errorf("%v becomes %v, %v, and with another key %v", x, a.IP(x), b.IP(x), other.IP(x))
	}
	k, va := a.Memory(0x1234, 0x7f0000001000)
	if got := a.IP(x).String(); got != "10.126.232.158" {
		t.Errorf("%v becomes %v", x, got)
	}
	if got := a.IP(v6).String(); got != "fdf1:7544:40a2:b169:c4a:de27:eb36:ba37" {
		t.Errorf("%v becomes %v", v6, got)
	}
	if got := a.MAC(mac).String(); got != "5e:2d:0e:c1:16:2c" {
		t.Errorf("%v becomes %v", mac, got)
	}
	if k != 0x933ce66a || va != 0x8e3fb6da7b35f000 {
		t.Errorf("R_Key 0x1234 becomes %#x, and the address %#x", k, va)
	}
}
