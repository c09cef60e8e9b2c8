package filter_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/decode/filter"
)

// TestSame are filters that must select the same frames, and some: what is in
// Wireshark 4.2 and later and can't be held against tshark 4.0, and what is
// ours.
func TestSame(t *testing.T) {
	ps := load(t, writeMixed(t))
	for _, c := range []struct{ a, b string }{
		// Since 4.2.
		{`vlan xor infiniband`, `(vlan and not infiniband) or (infiniband and not vlan)`},
		{`vlan ^^ infiniband ^^ tcp`, `(vlan xor infiniband) xor tcp`},
		{`vlan or ip xor tcp and frame.number > 50`, `vlan or (ip xor (tcp and frame.number > 50))`},
		{`@ip.src == 0a:0a:00:01`, `ip.src == 10.10.0.1`},
		{`@infiniband.bth.psn[0:2] == 00:00`, `infiniband.bth.psn < 256`},
		{`@infiniband.bth.destqp == 00:00:01`, `infiniband.bth.destqp == 1`},
		{`@udp.dstport#2 == 12:b7`, `udp.dstport#2 == 4791`},
		{`@udp[2:2] == 12:b7`, `udp[2:2] == 12:b7`},
		{`infiniband.bth.opcode matches "rdma write (first|only)"`, `infiniband.bth.opcode in {6, 10, 38, 42}`},
		{`infiniband.bth.opcode contains "Acknowledge"`, `infiniband.bth.opcode in {17, 18}`},
		{`vals(infiniband.bth.opcode) == "CNP"`, `infiniband.bth.opcode == 0x81`},
		{`vals(infiniband.bth.a) == "True"`, `infiniband.bth.a == 1`},
		{`dec(infiniband.bth.destqp) == "17"`, `infiniband.bth.destqp == 17`},
		{`hex(infiniband.bth.destqp) == "0x11"`, `infiniband.bth.destqp == 17`},
		{`ip_rfc1918(ip.src)`, `ip.src in {10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16}`},
		{`ip_multicast(ip.dst)`, `ip.dst == 224.0.0.0/4`},
		{`ip_multicast(ipv6.dst)`, `ipv6.dst == ff00::/8`},
		{`ip_linklocal(ipv6.addr)`, `ipv6.addr == fe80::/10`},
		{`ip_ula(ipv6.src)`, `ipv6.src == fc00::/7`},
		{`all ip_rfc1918(ip.dst) == False`, `ip and not ip_rfc1918(ip.dst)`},
		{`frame.time - frame.time_relative < "2100-01-01"`, `frame`},
		{`frame.time_relative * 2 > 1`, `frame.time_relative > 0.5`},
		{`frame.time_relative / 2 > 1`, `frame.time_relative > 2.000000001`},
		{`infiniband.bth.psn bitand 1`, `infiniband.bth.psn & 1`},
		{`1 == frame.number`, `frame.number == 1`},
		{`5 > frame.number`, `frame.number < 5`},
		{`1 < frame.number < 5`, `frame.number in {2..4}`},
		{`frame.number > 2 && frame.number < udp.port < 5000`, `frame.number > 2 && udp.port > frame.number && udp.port < 5000`},
		{`len(lower(frame.protocols)) > 40`, `len(frame.protocols) > 40`},
		{`lower(upper(frame.protocols)) == "eth:ethertype:ip:tcp"`, `frame.protocols == "eth:ethertype:ip:tcp"`},
		{`string(frame.number + 1) == "4"`, `frame.number == 3`},
		{`len(string(ip.src)) == 9`, `len(ip.src_host) == 9`},
		{`infiniband.bth.a == tRue`, `infiniband.bth.a == True`},
		{`frame contains "\u0052T"`, `frame contains "RT"`},
		{`frame contains "\U00000052T"`, `frame contains "RT"`},
		{`frame.len > 'A' + 1`, `frame.len > 66`},
		{`frame.number in {1+1, 2 * 3}`, `frame.number in {2, 6}`},
		{`frame.number in {-1..3}`, `frame.number < 4`},
		{`frame.number == (3)`, `frame.number == 3`},
		{`(frame.number + 1) * 2 == 8`, `frame.number == 3`},
		{`frame.number !in {1..5}`, `frame.number > 5`},
		{`"eth:ethertype:ip:tcp" == frame.protocols`, `frame.protocols == "eth:ethertype:ip:tcp"`},
		{`frame.protocols contains :eth`, `frame.protocols contains "eth"`},
		{`infiniband.bth.psn * 100000 > 5000000000`, `infiniband.bth.psn > 50000`},
		// Ours.
		{`rocev2`, `rocelens.kind == "RoCEv2"`},
		{`roce`, `rocev1 or rocev2`},
		{`roce`, `infiniband`}, // there is no native InfiniBand here
		{`infiniband.bth.opcode == "RC - RDMA WRITE First"`, `infiniband.bth.opcode == 6`},
		{`infiniband.bth.opcode == "RC RDMA WRITE First"`, `infiniband.bth.opcode == 6`},
		{`infiniband.bth.opcode == "rc acknowledge"`, `infiniband.bth.opcode == 17`},
		{`infiniband.bth.opcode == CNP`, `infiniband.bth.opcode == 0x81`},
		{`infiniband.bth.opcode != "RC RDMA WRITE First"`, `infiniband.bth.opcode != 6`},
		{`infiniband.icrc.status == "bad"`, `infiniband.icrc.expected`},
		{`frame.time_relative > 100ms`, `frame.time_relative > 0.1`},
		{`frame.time_relative > 2500us`, `frame.time_relative > 0.0025`},
		{`frame.time_relative > 2.5ms`, `frame.time_relative > 0.0025`},
		{`frame.time_delta in {1us .. 1ms}`, `frame.time_delta >= 0.000001 && frame.time_delta <= 0.001`},
		{`frame.time_relative > 1s`, `frame.time_relative > 1`},
		{`frame.time_relative < 1min`, `frame.time_relative < 60`},
		{`frame.time_relative > -100ms && frame.time_relative < 100ns`, `frame.time_relative >= -0.099999999 && frame.time_relative <= 0.000000099`},
		{`string(frame.time_relative) matches "\\.0{9}$"`, `frame.time_relative == 0`},
		{`ip.addr#[-1] == 10.10.0.1`, `ip.addr#1 == 10.10.0.1 && !ip#2 || ip.addr#2 == 10.10.0.1`},
		{`infiniband.reth.va - infiniband.reth.va == 0`, `infiniband.reth.va`},
		{`infiniband.reth.va + infiniband.reth.dmalen > infiniband.reth.va`, `infiniband.reth.dmalen > 0`},
		{``, `frame`},
		{`  `, `frame`},
	} {
		a, b := ps.selected(compiled(t, c.a)), ps.selected(compiled(t, c.b))
		if a.String() != b.String() || len(a) == 0 {
			t.Errorf("%s: %s\n%s: %s", c.a, a, c.b, b)
		}
	}
}

// TestNone are filters that match nothing, whatever the packet.
func TestNone(t *testing.T) {
	ps := load(t, writeMixed(t))
	for _, expr := range []string{
		`frame.number / 0 == 1`, `frame.number % {frame.len - frame.len}`, `infiniband.reth.va * infiniband.reth.va * infiniband.reth.va > 0`,
		`frame.number < -1`, `frame.number in {9..3}`, `eth.addr & 01:02`, `frame[5000:9] == 00`, `@frame.time_relative`,
		`rocelens.session`, `ip.addr#9`, `ip xor ip`, `infiniband.bth.opcode == -1`,
	} {
		f, err := filter.Compile(expr, time.UTC)
		if expr == `eth.addr & 01:02` { // six bytes are needed
			if err == nil {
				t.Errorf("%s is taken", expr)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		if s := ps.selected(f); len(s) > 0 {
			t.Errorf("%s: %s", expr, s)
		}
	}
}

// TestErrors: what is wrong is said, and where: the caret is under the text.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ expr, at, msg string }{
		{`infiniband.bth.psm > 5`, `infiniband.bth.psm`, `there is no field or protocol infiniband.bth.psm: did you mean infiniband.bth.psn?`},
		{`ip.adr == 10.0.0.1`, `ip.adr`, `did you mean ip.addr?`},
		{`infinband`, `infinband`, `did you mean infiniband?`},
		{`psn == 5`, `psn`, `did you mean infiniband.bth.psn?`},
		{`ip and vlam`, `vlam`, `did you mean vlan?`},
		{`frame.number == infiniband.bth.psm`, `infiniband.bth.psm`, `there is no field infiniband.bth.psm: did you mean infiniband.bth.psn?`},
		{`.nosuch.field == 1`, `.nosuch.field`, `there is no field or protocol nosuch.field`},
		{`frame.number-1 == 3`, `frame.number-1`, `a minus needs a blank ahead of it`},
		{`frame.number == 3-5`, `3-5`, `a range is 3..5`},
		{`frame.number = 3`, `=`, `use ==`},
		{`frame.number == 3 and`, ``, `something is missing at the end`},
		{`frame.number == 3 3`, `3`, `an operator is missing`},
		{`and ip`, `and`, `not expected here`},
		{`frame.number EQ 3`, `EQ`, `an operator is missing`},
		{`(ip and udp`, ``, `) is missing`},
		{`ip)`, `)`, `not expected`},
		{`ip.src == "10.0.0.1"`, `"10.0.0.1"`, `an address has no quotes`},
		{`ip.src == 10.0.0`, `10.0.0`, `not an IPv4 address`},
		{`ip.src == fe80::1`, `fe80::1`, `not an IPv4 address`},
		{`ip.src == www.example.com`, `www.example.com`, `names of hosts are not looked up`},
		{`ip.src == 10.0.0.0/33`, `10.0.0.0/33`, `up to 32 bits`},
		{`ipv6.src == fe80::/129`, `fe80::/129`, `up to 128 bits`},
		{`eth.src == 52:54`, `52:54`, `6 bytes`},
		{`frame.number == "3"`, `"3"`, `is not a number`},
		{`frame.number == abc`, `abc`, `is not a number`},
		{`infiniband.bth.opcode == 256`, `256`, `more than infiniband.bth.opcode can be, at most 255`},
		{`infiniband.bth.opcode == "RC RDMA WRITE Frist"`, `"RC RDMA WRITE Frist"`, `did you mean "RC RDMA WRITE First"?`},
		{`infiniband.aeth.syndrome.opcode > "Ack" or ip.proto == udp`, `ip.proto == udp`, `can't be compared`},
		{`infiniband.bth.opcode > CNP`, `CNP`, `names several values`},
		{`ip.src == ipv6.src`, `ip.src == ipv6.src`, `an IPv4 address and an IPv6 address can't be compared`},
		{`frame.time > frame.time_epoch`, `frame.time > frame.time_epoch`, `can't be compared`},
		{`frame.protocols contains udp`, `udp`, `udp is a protocol: put quotes around text`},
		{`frame.protocols == eth`, `eth`, `put quotes around text`},
		{`frame.protocols matches udp`, `udp`, `double quotes`},
		{`frame.protocols matches "(?=x)"`, `"(?=x)"`, `look-around`},
		{`frame.protocols matches "("`, `"("`, `not a regular expression`},
		{`ip.src matches "10"`, `ip.src`, `use string() around it`},
		{`ip.addr contains 0a`, `ip.addr`, `use string() around it`},
		{`infiniband.bth.psn[0] == 1`, `infiniband.bth.psn`, `use @ ahead`},
		{`frame[3-] == 00`, `frame[3-]`, `no range`},
		{`frame[5-2] == 00`, `frame[5-2]`, `ends before it begins`},
		{`frame[0:0] == 00`, `frame[0:0]`, `length of 1 or more`},
		{`frame[-3-1] == 00`, `frame[-3-1]`, `counted from the end`},
		{`frame[1 == 00`, `[`, `not closed`},
		{`frame[12:2] == 0x0800`, `0x0800`, `byte order`},
		{`frame[0] == 123`, `123`, `a digit is missing`},
		{`frame contains "abc`, `"`, `closing quote is missing`},
		{`frame contains "\q"`, `\q`, `not an escape sequence`},
		{`frame.len > 'ab'`, `'ab'`, `one byte`},
		{`frame.number in {}`, `}`, `not expected`},
		{`frame.number in {1 3}`, `3`, `, is expected`},
		{`frame.number in 3`, `3`, `{ is expected`},
		{`upper(frame.number) == "X"`, `frame.number`, `upper() takes text, and this is a number`},
		{`len(frame.protocols)`, `len(frame.protocols)`, `compare it with something`},
		{`foo(frame.number) == 1`, `foo(frame.number)`, `there is no function foo: there are abs, count`},
		{`count(ip, udp) == 1`, `count(ip, udp)`, `takes one argument, not 2`},
		{`max() == 1`, `max()`, `needs a field`},
		{`max(frame.number, ip.src) == 1`, `ip.src`, `an argument ahead of it is a number`},
		{`ip.src + 1 == 10.0.0.1`, `1`, `not an IPv4 address`},
		{`infiniband.bth.a + 1 == 2`, `infiniband.bth.a + 1`, `has no meaning`},
		{`-ip.src == 10.0.0.1`, `-ip.src`, `a minus goes with numbers`},
		{`frame.time > 1577836800`, `1577836800`, `no time`},
		{`frame.time > "2020-01"`, `"2020-01"`, `no time`},
		{`frame.time > "2020-01-01 00:00:00 PST"`, `"2020-01-01 00:00:00 PST"`, `no zone`},
		{`frame.time > "9999-01-01"`, `"9999-01-01"`, `beyond what a time stamp`},
		{`frame.time_relative > 1e-3`, `1e-3`, `no duration`},
		{`frame.time_relative > 0.1234567891`, `0.1234567891`, `more exact than a nanosecond`},
		{`frame.time_relative > "0.1"`, `"0.1"`, `no quotes`},
		{`frame.number >= ${frame.number} - 5`, `$`, `write the value`},
		{`all ip`, `all`, `needs a comparison`},
		{`all not ip == 1`, `not`, `not expected`},
		{`(ip and udp) == 1`, `(ip and udp)`, `this is a test, and no value`},
		{`1`, `1`, `a field is needed here`},
		{`1 == 1`, `1`, `a field is needed`},
		{`"x"`, `"x"`, `a field is needed`},
		{`ip.addr#x == 10.0.0.1`, `ip.addr#x`, `no range`},
		{`ip.addr# 2 == 10.0.0.1`, `2`, `behind #`},
		{`string(ip.src)#1 == "x"`, `string(ip.src)`, `# goes with a field`},
		{`@frame.len + 1 == 3`, `1`, ``},
		{`@string(ip.src) == 00`, `string(ip.src)`, `@ goes with a field alone`},
		{`frame.number == 10 / 0`, `10 / 0`, `divides by zero`},
		{`frame.number == 18446744073709551616`, `18446744073709551616`, `64 bits`},
		{`frame.number > 3 ; ip`, `;`, `has no meaning here`},
	} {
		_, err := filter.Compile(c.expr, time.UTC)
		if err == nil {
			if c.msg != "" {
				t.Errorf("%s is taken", c.expr)
			}
			continue
		}
		e, ok := err.(*filter.Error) //nolint:errorlint // Compile says so
		if !ok {
			t.Fatalf("%s: %T", c.expr, err)
		}
		if !strings.Contains(strings.SplitN(err.Error(), "\n", 2)[0], c.msg) || c.msg != "" && c.expr[e.Off:e.Off+e.Len] != c.at {
			t.Errorf("%s: at %q: %s", c.expr, c.expr[e.Off:e.Off+e.Len], err)
		}
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != 3 || strings.Index(lines[2], "^") != 2+e.Off || strings.Count(lines[2], "^") != max(1, e.Len) {
			t.Errorf("%s", err)
		}
	}
}

// TestLimits: what is no one's filter is refused before it takes memory.
func TestLimits(t *testing.T) {
	for _, expr := range []string{
		strings.Repeat("(", 10000), strings.Repeat("!", 10000) + "ip", "frame.number == " + strings.Repeat("-", 10000) + "1",
		"frame.number == " + strings.Repeat("{", 10000), "frame" + strings.Repeat("[0:9]", 10000), strings.Repeat("lower(", 10000),
		"frame.number" + strings.Repeat(" + 1", 10000), strings.Repeat("a", filter.MaxLen+1), "frame[" + strings.Repeat("1,", 10000) + "1]",
		strings.Repeat("@", 10000) + "ip",
	} {
		_, err := filter.Compile(expr, time.UTC)
		if err == nil {
			t.Errorf("%.20s... is taken", expr)
		} else if len(err.Error()) > 500 {
			t.Errorf("an error of %d bytes: %.80s", len(err.Error()), err)
		}
	}
	long := strings.Repeat("\xff.x", 10000)
	for _, expr := range []string{
		long, "frame.len == " + long, "ip.src == " + long, "ipv6.src == 1::/" + strings.Repeat("9", 10000), "eth.src == " + long, "frame[0] == " + long,
		"frame.time > \"" + long + "\"", "frame.time_delta > 1" + long, "infiniband.bth.opcode == \"" + long + "\"", "frame matches \"(" + long + "\"",
		"ip " + long, "frame[" + long + "] == 00", long + "(ip) == 1", "infiniband.bth.opcode == " + strings.Repeat("9", 10000), "ip.src == \"" + long + "\"",
		"ip == \"" + strings.Repeat("\x9a", 10000), strings.Repeat("\x9a", 10000) + " == ip",
		"frame.len == 1-" + long, "frame.time_delta > 1." + strings.Repeat("1", 10000), "frame.protocols == eth" + long + " ip",
	} {
		if _, err := filter.Compile(expr, time.UTC); err == nil || len(err.Error()) > 1000 || !utf8.ValidString(err.Error()) {
			t.Errorf("%.40q: %.2000q", expr, err)
		}
	}
	long = "ip.src in {" + strings.Repeat("10.0.0.1,", 5000) + "10.10.0.1}"
	if s := load(t, writeMixed(t)).selected(compiled(t, long)); len(s) == 0 {
		t.Error("a long set matches nothing")
	}
	or := "ip.src == 10.10.0.1" + strings.Repeat(" or ip.src == 10.0.0.1", 2500)
	if s := load(t, writeMixed(t)).selected(compiled(t, or)); len(s) == 0 {
		t.Error("a long row of tests matches nothing")
	}
}

// TestNeeds: a filter says what has to be known for it.
func TestNeeds(t *testing.T) {
	for _, c := range []struct {
		expr                   string
		notes, icrc, displayed bool
	}{
		{`infiniband.bth.psn > 5`, false, false, false},
		{`rocelens.kind == "RoCEv2"`, false, false, false},
		{`rocelens.retransmission`, true, false, false},
		{`ip and not (udp or rocelens.ack_latency > 1ms)`, true, false, false},
		{`count(rocelens.session) == 1`, true, false, false},
		{`@rocelens.session`, true, false, false},
		{`infiniband.icrc.status == "bad"`, false, true, false},
		{`infiniband.icrc.expected`, false, true, false},
		{`@infiniband.icrc.status#1 == 00`, false, true, false},
		{`frame.time_delta_displayed > 1`, false, false, true},
		{`rocelens`, true, false, false},
	} {
		f := compiled(t, c.expr)
		if f.NeedNotes() != c.notes || f.NeedICRC() != c.icrc || f.NeedDisplayed() != c.displayed {
			t.Errorf("%s: notes %t, ICRC %t, displayed %t", c.expr, f.NeedNotes(), f.NeedICRC(), f.NeedDisplayed())
		}
	}
}

// TestNotes selects by what is known of a packet's session.
func TestNotes(t *testing.T) {
	note := &decode.Note{
		Session: "v2:10.0.0.1/0x11-10.0.0.2/0x12", Role: decode.RoleRequest, Verdict: decode.VerdictRepeat, Try: 2, Pass: 3,
		Cause: decode.CauseNak, Place: decode.PlaceBeforeTap, Flags: decode.NoteFirstOfTry | decode.NoteAckLatency, Silence: 5_000_000, AckLatency: 1_500_000,
	}
	ps := load(t, writeMixed(t))
	for expr, want := range map[string]bool{
		`rocelens`: true, `rocelens.retransmission`: true, `rocelens.late`: false, `rocelens.cause == "nak"`: true,
		`rocelens.cause == nak`: true, `rocelens.cause in {"rnr", "timeout"}`: false, `rocelens.ack_latency > 1ms`: true,
		`rocelens.ack_latency > 0.0015`: false, `rocelens.ack_latency >= 1.5ms`: true, `rocelens.silence == 5ms && rocelens.try == 2`: true,
		`rocelens.session contains "10.0.0.2/0x12"`: true, `rocelens.session matches "0X12$"`: true, `rocelens.message_latency`: false,
		`rocelens.pass > 2`: true, `rocelens.verdict == "repeat"`: true, `!rocelens.retransmission`: false, `rocelens.place == "after_tap"`: false,
	} {
		f := compiled(t, expr)
		x := decode.Extra{Note: note}
		if got := f.Match(&ps.list[0], &x); got != want {
			t.Errorf("%s: %t", expr, got)
		}
		if !f.NeedNotes() {
			t.Errorf("%s needs no notes", expr)
		}
	}
}
