package filter_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/decode/filter"
)

// source makes choices, from the bytes that a fuzzer gives or from a random
// stream.
type source interface{ choose(n int) int }

type given struct{ b []byte }

func (g *given) choose(n int) int {
	if len(g.b) == 0 {
		return 0
	}
	c := int(g.b[0])
	g.b = g.b[1:]
	if n > 256 && len(g.b) > 0 {
		c |= int(g.b[0]) << 8
		g.b = g.b[1:]
	}
	return c % n
}

type random struct{ *rand.Rand }

func (r random) choose(n int) int { return r.IntN(n) }

// maker writes filters that are well formed. Each comes in two spellings that
// must select the same: in the second every field has #[1:] behind it, headers
// from the first on, for which the field table is always asked.
type maker struct {
	source
	depth int
}

type spelled struct{ plain, asked string }

func both(format string, parts ...spelled) spelled {
	a, b := make([]any, len(parts)), make([]any, len(parts))
	for i, p := range parts {
		a[i], b[i] = p.plain, p.asked
	}
	return spelled{fmt.Sprintf(format, a...), fmt.Sprintf(format, b...)}
}

func (m *maker) of(words ...string) string { return words[m.choose(len(words))] }

func (m *maker) test() spelled {
	if m.depth++; m.depth > 6 {
		return m.comparison()
	}
	switch m.choose(8) {
	case 0:
		return both("not "+"(%s)", m.test())
	case 1:
		return both("(%s "+m.of("and", "&&", "or", "||", "xor", "^^")+" %s)", m.test(), m.test())
	case 2:
		return both("%s and %s and %s", m.comparison(), m.comparison(), m.comparison())
	case 3:
		return both("%s or %s or %s", m.comparison(), m.comparison(), m.comparison())
	}
	return m.comparison()
}

// fieldsOf are fields by their kind.
var fieldsOf = func() map[string][]string {
	all := map[string][]string{}
	for _, f := range decode.Fields() {
		kind := ""
		switch f.Type {
		case decode.TypeUint8, decode.TypeUint16, decode.TypeUint24, decode.TypeUint32, decode.TypeUint64:
			kind = "number"
		case decode.TypeBytes, decode.TypeEther:
			kind = "bytes"
		case decode.TypeNone, decode.TypeTime:
			continue
		default:
			kind = f.Type.String()
		}
		if strings.HasSuffix(f.Name, "host") {
			kind = "string"
		}
		all[kind] = append(all[kind], f.Name)
	}
	// What is read from the packet itself is met as often as all else.
	for range 6 {
		all["number"] = append(all["number"], strings.Fields(`infiniband.bth.opcode infiniband.bth.destqp infiniband.bth.psn
			infiniband.aeth.syndrome infiniband.aeth.msn infiniband.reth.va infiniband.reth.dmalen infiniband.deth.srcqp udp.srcport udp.dstport
			udp.port ip.dsfield.ecn ip.ttl ip.id ipv6.flow ipv6.hlim frame.number frame.len ip.dsfield ipv6.tclass.ecn infiniband.bth.p_key`)...)
	}
	return all
}()

func (m *maker) field(kind string) spelled {
	list := fieldsOf[kind]
	name := list[m.choose(len(list))]
	return spelled{name, name + "#[1:]"}
}

func (m *maker) relation() string {
	return m.of("==", "!=", "===", "!==", "<", ">", "<=", ">=", "eq", "any_ne", "all_ne", "ge")
}

func (m *maker) number() spelled {
	switch m.choose(9) {
	case 0:
		return both("{%s "+m.of("+", "-", "*", "/", "%%", "&")+" %s}", m.field("number"), m.field("number"))
	case 1:
		return both("{%s "+m.of("+", "-", "*", "/", "%%", "&")+" "+m.constant()+"}", m.field("number"))
	case 2:
		return both(m.of("max", "min")+"(%s, %s)", m.field("number"), m.field("number"))
	case 3:
		return both("count(%s)", m.field(m.of("number", "bytes", "ipv4", "string")))
	case 4:
		return both("len(%s)", m.field(m.of("number", "bytes", "ipv4", "string")))
	case 5:
		return both("abs(-%s)", m.field("number"))
	}
	return m.field("number")
}

func (m *maker) constant() string {
	return m.of("0", "1", "5", "0x11", "17", "255", "4791", "0b11", "'A'", "012", "{1 + 2}", "+7")
}

func (m *maker) bytes() spelled {
	switch m.choose(5) {
	case 0:
		return both("%s["+m.ranges()+"]", m.field("bytes"))
	case 1:
		name := m.of("eth", "ip", "udp", "infiniband", "frame", "data", "tcp", "gre")
		return both("%s["+m.ranges()+"]", spelled{name, name + "#[1:]"})
	case 2:
		name := m.field(m.of("number", "ipv4", "ipv6", "boolean"))
		return both("@%s", name)
	case 3:
		return both("%s["+m.ranges()+"]", m.field(m.of("ipv4", "ipv6", "string")))
	}
	return m.field("bytes")
}

func (m *maker) ranges() string {
	return m.of("0", "0:1", "0:2", "1-3", ":4", "2:", "-1", "-4:2", "-3--1", "0,2-3", "1,-2:", "100:9", "0:1500")
}

func (m *maker) byteText() string {
	return m.of("00", "0x12", "52:54:00", "0a-0a", "12b7", `"RT"`, "00:00:00:00", "ff.ff", "'a'")
}

func (m *maker) address() string {
	return m.of("10.10.0.1", "10.10.0.2", "0.0.0.0", "255.255.255.255", "192.168.1.1")
}

func (m *maker) address6() string {
	return m.of("fd00:10::1", "fd00:10::2", "fe80::1", "::", "ff02::1")
}

func (m *maker) text() string {
	return m.of(`"eth"`, `"udp"`, `"RoCEv2"`, `"10.10.0.1"`, `r"\x"`, `"\x65"`, `"good"`, `""`)
}

func (m *maker) comparison() spelled {
	q := m.of("", "", "", "any ", "all ")
	switch m.choose(16) {
	case 0:
		return both("%s", m.field(m.of("number", "bytes", "ipv4", "ipv6", "string", "boolean", "duration")))
	case 1:
		name := m.of("eth", "ip", "ipv6", "udp", "infiniband", "frame", "data", "tcp", "gre", "rocev2", "vlan", "rocelens")
		return spelled{name, name + "#[1:]"}
	case 2:
		return both(q+"%s in {"+m.constant()+", "+m.constant()+" .. "+m.constant()+", -1..3}", m.number())
	case 3:
		return both(q+"%s in {%s, "+m.constant()+"..%s}", m.number(), m.number(), m.number())
	case 4:
		return both(q+"%s "+m.relation()+" %s", m.number(), m.number())
	case 5:
		return both(q+"%s "+m.relation()+" %s", m.bytes(), m.bytes())
	case 6:
		return both(q+"%s "+m.of("contains", "==", "<", "!=")+" "+m.byteText(), both("%s["+m.ranges()+"]", m.bytes()))
	case 7:
		return both(q+"%s "+m.relation()+" "+m.address(), m.field("ipv4"))
	case 8:
		return both(q+"%s "+m.of("==", "!=", "===", "!==")+" "+m.address()+"/"+m.of("0", "8", "24", "31", "32"), m.field("ipv4"))
	case 9:
		return both(q+"%s "+m.relation()+" "+m.address6()+m.of("", "/64", "/10", "/128"), m.field("ipv6"))
	case 10:
		return both(q+"%s "+m.of("contains", "==", "<", "!=", "matches")+" "+m.text(), m.field("string"))
	case 11:
		return both(m.of("upper", "lower", "string")+"(%s) "+m.of("contains", "matches", "==")+" "+m.text(), m.field("string"))
	case 12:
		return both(q+"%s "+m.relation()+" "+m.of("True", "0", "1", "false"), m.field("boolean"))
	case 13:
		return both(q+"%s "+m.relation()+" "+m.of("0", "1ms", "0.5", "-2us", "1h"), m.field("duration"))
	case 14:
		return both(q+"%s in {"+m.address()+", "+m.address()+"/20, "+m.address()+" .. "+m.address()+"}", m.field("ipv4"))
	}
	return both(q+"%s "+m.relation()+" "+m.constant(), m.number())
}

// subject is a packet to try filters on, made of one of real ones: cut, and with
// some bytes changed.
type subject struct {
	frames []capture.Frame
	extra  []decode.Extra
	dec    *decode.Decoder
	p      decode.Packet
	frame  capture.Frame
	data   []byte
}

func newSubject(tb testing.TB) *subject {
	ps := load(tb, writeMixed(tb))
	s := &subject{dec: decode.New(decode.DefaultConfig()), extra: ps.extra}
	for i := range ps.list {
		s.frames = append(s.frames, *ps.list[i].Frame)
	}
	return s
}

func (s *subject) make(c source) (*decode.Packet, *decode.Extra) {
	i := c.choose(len(s.frames))
	s.frame = s.frames[i]
	s.data = append(s.data[:0], s.frame.Data...)
	for range c.choose(4) {
		s.data[c.choose(len(s.data))] = byte(c.choose(256))
	}
	if c.choose(3) == 0 {
		s.data = s.data[:c.choose(len(s.data)+1)]
	}
	s.frame.Data = s.data
	s.dec.Decode(&s.frame, &s.p)
	x := &s.extra[i]
	x.Note = nil
	if c.choose(2) == 0 {
		x.Note = &decode.Note{Session: "s", Role: decode.Role(c.choose(8)), Try: uint32(c.choose(3)), Flags: decode.NoteFlags(c.choose(256))}
	}
	return &s.p, x
}

// check holds a filter against its negation, and both its spellings against one
// another.
func (s *subject) check(tb testing.TB, c source) (matches bool) {
	tb.Helper()
	m := maker{source: c}
	expr := m.test()
	var got [3]bool
	fs := [3]*filter.Filter{}
	for i, e := range []string{expr.plain, expr.asked, "!(" + expr.plain + ")"} {
		f, err := filter.Compile(e, time.UTC)
		if err != nil {
			if i > 0 {
				tb.Fatalf("%s is taken, and this is not: %v", expr.plain, err)
			}
			return false // a number too large for a field, and the like
		}
		fs[i] = f
	}
	p, x := s.make(c)
	for i, f := range fs {
		got[i] = f.Match(p, x)
	}
	deep := p.Err.Code == decode.ErrTooDeep // headers that are not listed are in the packet's own fields alone
	if got[0] == got[2] || got[0] != got[1] && !deep {
		tb.Fatalf("%s: %t\n%s: %t\nnegated: %t\nframe %d, %d bytes: %x", expr.plain, got[0], expr.asked, got[1], got[2], p.Frame.Number, len(p.Data), p.Data)
	}
	return got[0]
}

// TestNegation: a filter and its negation split the packets, whichever way
// fields are read.
func TestNegation(t *testing.T) {
	s := newSubject(t)
	c := random{rand.New(rand.NewPCG(1, 2))}
	const runs = 30000
	matched := 0
	for range runs {
		if s.check(t, c) {
			matched++
		}
	}
	if matched < runs/20 || matched > runs-runs/20 {
		t.Errorf("%d of %d random filters match: they say nothing", matched, runs)
	}
}

// FuzzMatch tries random filters on random packets.
func FuzzMatch(f *testing.F) {
	s := newSubject(f)
	c := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		seed := make([]byte, 60)
		for i := range seed {
			seed[i] = byte(c.Uint32())
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, choices []byte) { s.check(t, &given{choices}) })
}

// FuzzCompile: whatever is taken as a filter can be applied, and says the
// opposite of its negation; whatever is refused, is so with a place in it.
func FuzzCompile(f *testing.F) {
	for _, expr := range readFilters(f, "testdata/filters.txt") {
		f.Add(expr)
	}
	for _, expr := range []string{`@ip.src == 0a`, `a xor b`, `rocelens.ack_latency > 1ms`, `${x}`, `ip.addr#[-1]`, `frame.time > "2020-01-01" - 5s`, `"\u0052"`} {
		f.Add(expr)
	}
	ps := load(f, writeMixed(f))
	f.Fuzz(func(t *testing.T, expr string) {
		one, err := filter.Compile(expr, time.UTC)
		if err != nil {
			e := err.(*filter.Error) //nolint:errorlint // Compile says so
			if e.Off < 0 || e.Len < 0 || e.Off+e.Len > len(expr) || e.Msg == "" || len(expr)%32 == 0 && len(err.Error()) > 1500 {
				t.Fatalf("%q: %d+%d: %s", expr, e.Off, e.Len, err)
			}
			return
		}
		other, err := filter.Compile("!("+expr+")", time.UTC)
		if err != nil {
			if strings.TrimSpace(expr) != "" && len(expr)+3 <= filter.MaxLen && !strings.Contains(err.Error(), "nested deeper") {
				t.Fatalf("%q is taken, its negation is not: %v", expr, err)
			}
			return
		}
		for i := 11; i < len(ps.list); i += 97 {
			p, x := &ps.list[i], &ps.extra[i]
			if one.Match(p, x) == other.Match(p, x) {
				t.Fatalf("%q and its negation select the same", expr)
			}
		}
	})
}
