package decode_test

import (
	"strings"
	"testing"

	"github.com/google/gopacket/layers"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/capture/frametest"
	"github.com/rocelens/rocelens/decode"
)

// TestFieldTable checks the table against itself.
func TestFieldTable(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range decode.Fields() {
		if seen[f.Name] || f.Name == "" || f.Label == "" || strings.ToLower(f.Name) != f.Name {
			t.Errorf("field %q, label %q", f.Name, f.Label)
		}
		seen[f.Name] = true
		if decode.FieldByName(f.Name) != f {
			t.Errorf("%s is not found by its name", f.Name)
		}
		if strings.HasPrefix(f.Name, "rocelens.") && !f.Ours {
			t.Errorf("%s is not called ours", f.Name)
		}
	}
	if decode.FieldByName("no.such.field") != nil {
		t.Error("a field that does not exist is found")
	}
}

// fieldNotes have between them all that notes say.
var fieldNotes = []*decode.Note{
	nil,
	{Role: decode.RoleAck, Flags: decode.NoteAckLatency | decode.NoteMessageLatency | decode.NoteNamesLoss | decode.NoteRefusal},
	{Session: "v2:10.0.0.1/0x11-10.0.0.2/0x12", Role: decode.RoleRequest, Verdict: decode.VerdictRepeat, Try: 1, Flags: decode.NoteFirstOfTry | decode.NoteWasted},
	{Role: decode.RoleRequest, Verdict: decode.VerdictLate},
	{Role: decode.RoleResponse, Verdict: decode.VerdictCopy, Rule: "response_order"},
}

// fieldFrames have between them every header that there are fields for.
func fieldFrames() []capture.Frame {
	bare := etherIP(udpPacket(pairV4, writeMiddle(5)))
	over := func(tr transport) capture.Frame { return frame(etherIP(udpPacket(pairV6, tr))) }
	frames := []capture.Frame{
		frame(tagged(bare, unhex("88a8 6064 8100 0007"))), frame(tagged(bare, unhex("8926 40010002"))),
		frame(tagged(bare, unhex("8988 010203040506"))), frame(tagged(bare, unhex("8909 0101 0001 0010"))),
		frame(tagged(bare, unhex("d28b 0001 1100 0102030405060708"))), frame(etherFrame(0x8847, cat(unhex("00010140"), bare))),
		frame(etherFrame(0x8847, cat(unhex("00010140 00000007"), bare))),
		frame(gre("b000 6558 12340000 00109201 00000007", bare)), frame(gre("1000 88be 00000007 1064 a01e 0000007b", bare)),
		frame(gre("1000 22eb 00000007 2064 a01e 11223344 0000 0001 0c00000000000000", bare)),
		frame(etherIP(udpOver(6081, cat(unhex("02406558 00109200 0102030405060708"), bare)))),
		frame(etherIP(udpOver(4789, cat(unhex("08000000 00109200"), bare)))),
		frame(etherFrame(0x8915, grhPacket(writeMiddle(3)))), frame(unhex("0180c2000001 525400000001 8808 0001 ffff")),
		frame(unhex("0180c2000001 525400000001 8808 0101 0018 0000 0000 0000 ffff 0000 0000 0000 0000")),
		linkFrame(capture.LinkInfiniBand, nativeIB(writeMiddle(3), true)), linkFrame(capture.LinkInfiniBand, nativeIB(writeMiddle(3), false)),
		linkFrame(capture.LinkNull, cat(unhex("1e000000"), udpPacket(pairV6, writeMiddle(1)))),
		over(transport{op: 0x64, qp: 1, ext: make([]byte, 8), payload: make([]byte, 256)}),
		frame(etherFrame(0x0806, make([]byte, 28))), frame(nil), frame(bare[:20]),
		linkFrame(capture.LinkERF, cat(unhex("0011223344556677 15 04 0046 0000 0034"), nativeIB(writeMiddle(3), false))),
		frame(cat(bare[:12], unhex("0050 aaaa03000000"), bare[12:])), frame(cat(bare[:12], unhex("8100 0005 0050 424203"), make([]byte, 40))),
		frame(etherIP(ipOver(layers.IPProtocolICMPv4, unhex("0800 0000 00000000")))),
		frame(etherIP(ipOver(layers.IPProtocolTCP, cat(make([]byte, 12), unhex("5000 0000 0000 0000"), []byte("MPA ID Req Frame\x40\x01\x00\x00"))))),
		linkFrame(capture.LinkIPoIB, cat(make([]byte, 40), unhex("08000000"), ipOver(layers.IPProtocolICMPv4, unhex("0800 0000 00000000")))),
		frame(append(bare[:len(bare)-1:len(bare)-1], bare[len(bare)-1]^1)),
	}
	for attribute := byte(0x10); attribute <= 0x1a; attribute++ {
		body := make([]byte, 256)
		copy(body, []byte{1, decode.ClassCM, 2, 3, 17: attribute})
		other := append([]byte(nil), body...)
		frames = append(frames, over(transport{op: 0x64, qp: 1, ext: make([]byte, 8), payload: body}))
		copy(other[24+66:], []byte{0xff, 0xff, 10, 0, 0, 1}) // a REQ's GIDs
		copy(other[24+82:], []byte{0xff, 0xff, 10, 0, 0, 2})
		for _, version := range []byte{0x40, 0x60} { // RDMA-CM, in REQ and SIDR_REQ
			ip := append([]byte(nil), other...)
			ip[24+12], ip[24+13], ip[24+17], ip[24+141] = 1, 6, version, version
			frames = append(frames, over(transport{op: 0x64, qp: 1, ext: make([]byte, 8), payload: ip}))
		}
	}
	for op := range 256 {
		_, headers, _, _ := headersOf(byte(op))
		n := 0
		for _, h := range headers {
			n += headerSize[h]
		}
		frames = append(frames, over(transport{op: byte(op), ext: make([]byte, n), payload: []byte("x")}))
	}
	return frames
}

// TestFieldValues reads every field of frames of all kinds at every captured
// length: whatever is found is inside the frame, and what the tree says is what
// the field by itself says.
func TestFieldValues(t *testing.T) {
	d := decode.New(decode.DefaultConfig())
	var p decode.Packet
	var x decode.Extra
	var nodes []decode.Node
	var values []decode.Value
	found := map[string]bool{}
	for _, f := range append(fieldFrames(), linkFrames()...) {
		for n := len(f.Data); n >= 0; n-- {
			short := f
			short.Data = f.Data[:n]
			d.Decode(&short, &p)
			d.VerifyICRC(&p)
			x.Reset()
			x.Note = fieldNotes[n%len(fieldNotes)]
			nodes = decode.AppendTree(nodes[:0], &x, &p)
			inTree := map[string]int{}
			for i := range nodes {
				node := &nodes[i]
				if node.Value.Off+node.Value.Len > uint32(n) {
					t.Fatalf("%d bytes: %s at %d, %d bytes", n, node.AppendText(nil), node.Value.Off, node.Value.Len)
				}
				node.AppendText(nil)
				if node.Field != nil && node.Field.Name != "" {
					inTree[node.Field.Name]++
				}
			}
			if n < len(f.Data) && n%7 != 0 {
				continue
			}
			for _, field := range decode.Fields() {
				values = field.Append(values[:0], &x, &p)
				for i := range values {
					field.AppendJSON(nil, &values[i])
					found[field.Name] = true
				}
				if len(values) != inTree[field.Name] && field.Name != "frame.file_off" {
					t.Fatalf("%d bytes: %s %d times, in the tree %d times", n, field.Name, len(values), inTree[field.Name])
				}
				if len(values) > 1 && !field.Repeats {
					t.Errorf("%s has %d values and is not said to repeat", field.Name, len(values))
				}
			}
		}
	}
	for _, c := range capturetest.Committed(t) { // the rest: TCP, SLL, ICMP, names of interfaces
		frametest.Each(t, c.Path, func(f *capture.Frame) {
			if f.Number > 300 {
				return
			}
			d.Decode(f, &p)
			x.Reset()
			x.HasInterface, x.InterfaceName, x.InterfaceDescription = true, "eth0", "a port"
			for i := range decode.AppendTree(nodes[:0], &x, &p) {
				if n := nodes[:cap(nodes)][i]; n.Field != nil {
					found[n.Field.Name] = true
				}
			}
		})
	}
	found["frame.comment"] = true // TestComments
	for _, f := range decode.Fields() {
		if !found[f.Name] {
			t.Errorf("%s is in none of the frames", f.Name)
		}
	}
}

// TestFieldNoAllocation reads forty fields of a packet without allocating.
func TestFieldNoAllocation(t *testing.T) {
	f := frame(etherIP(udpOver(4789, cat(unhex("08000000 00109200"), etherIP(udpPacket(pairV4, writeMiddle(64)))))))
	d := decode.New(decode.DefaultConfig())
	var p decode.Packet
	var x decode.Extra
	values := make([]decode.Value, 0, 16)
	text := make([]byte, 0, 4096)
	d.Decode(&f, &p)
	x.Note = fieldNotes[2]
	read := func() {
		x.Reset()
		for _, field := range decode.Fields() {
			if field.Type == decode.TypeTime {
				continue // time zones are not free
			}
			values = field.Append(values[:0], &x, &p)
			for i := range values {
				text = field.AppendRaw(text[:0], &values[i])
			}
		}
	}
	read()
	if n := testing.AllocsPerRun(100, read); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkFields40(b *testing.B) {
	f := benchFrame(1024)
	d := decode.New(decode.DefaultConfig())
	var p decode.Packet
	var x decode.Extra
	d.Decode(&f, &p)
	fields := decode.Fields()[60:100]
	var values []decode.Value
	var text []byte
	b.ReportAllocs()
	for b.Loop() {
		x.Reset()
		text = text[:0]
		for _, field := range fields {
			values = field.Append(values[:0], &x, &p)
			for i := range values {
				text = field.AppendRaw(text, &values[i])
			}
		}
	}
}
