package decode_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
)

// commented is a frame with comments, read from a pcapng file: only a reader
// makes them.
func commented(t *testing.T, data []byte, comments ...string) capture.Frame {
	t.Helper()
	le := binary.LittleEndian
	pad := func(b []byte) []byte { return append(b, make([]byte, -len(b)&3)...) }
	block := func(typ uint32, body []byte) []byte {
		n := uint32(12 + len(body))
		return le.AppendUint32(append(le.AppendUint32(le.AppendUint32(nil, typ), n), body...), n)
	}
	body := pad(append(le.AppendUint32(le.AppendUint32(make([]byte, 12), uint32(len(data))), uint32(len(data))), data...))
	for _, c := range comments {
		body = pad(append(le.AppendUint16(le.AppendUint16(body, 1), uint16(len(c))), c...))
	}
	file := cat(block(0x0a0d0d0a, unhex("4d3c2b1a 01000000 ffffffffffffffff")), block(1, unhex("01000000 00000000")), block(6, append(body, 0, 0, 0, 0)))
	f, err := capture.Open("-", capture.Config{Stdin: bytes.NewReader(file)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	var b capture.Batch
	if err := f.ReadBatch(&b); err != nil || len(b.Frames) != 1 {
		t.Fatal(err, len(b.Frames))
	}
	return b.Frames[0]
}

// TestComments: all of a frame's comments, in lists, fields and trees, and none
// of the frame before.
func TestComments(t *testing.T) {
	bare := etherIP(udpPacket(pairV4, writeMiddle(5)))
	f := commented(t, bare, "one", "two,\tthree", "")
	field := decode.FieldByName("frame.comment")
	if !field.Repeats || field.Ours {
		t.Errorf("%+v", field)
	}
	var x decode.Extra
	p := decodeFrame(t, f)
	if got := string(field.AppendAll(nil, '|', &x, p)); got != `one|two,\tthree|` {
		t.Errorf("%q", got)
	}
	if values := field.Append(nil, &x, p); len(values) != 3 || string(values[0].Bytes) != "one" {
		t.Errorf("%+v", values)
	}
	nodes := decode.AppendTree(nil, &x, p)
	if nodes[0].Proto != "pkt_comment" || nodes[2].Field != field || string(nodes[2].AppendText(nil)) != `Comment: two,\tthree` || nodes[4].Proto != "frame" {
		t.Errorf("%+v", nodes[:5])
	}
	x.Reset()
	p = decodeFrame(t, frame(bare))
	if got := field.AppendAll(nil, '|', &x, p); len(got) > 0 || decode.AppendTree(nil, &x, p)[0].Proto != "frame" {
		t.Errorf("of a frame without: %q", got)
	}
}
