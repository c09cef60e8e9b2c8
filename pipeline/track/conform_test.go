package track_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/track"
)

// sent is a packet of a hand-made session: a sends requests to b, and b
// answers. Times, IP IDs and addresses are filled in.
type sent struct {
	op      decode.Opcode
	psn     uint32
	payload uint32
	dmaLen  uint32
	msn     uint32
}

const (
	sendFirst  = decode.Opcode(0x00)
	sendMiddle = decode.Opcode(0x01)
	sendLast   = decode.Opcode(0x02)
	sendOnly   = decode.Opcode(0x04)
	writeFirst = decode.Opcode(0x06)
	writeMid   = decode.Opcode(0x07)
	writeLast  = decode.Opcode(0x08)
	writeOnly  = decode.Opcode(0x0a)
	readReq    = decode.Opcode(0x0c)
	respFirst  = decode.Opcode(0x0d)
	respMiddle = decode.Opcode(0x0e)
	respLast   = decode.Opcode(0x0f)
	respOnly   = decode.Opcode(0x10)
	ack        = decode.Opcode(0x11)
)

// packet is the packet at a place of a list, from 0.
func (x *sent) packet(i int) *track.Packet {
	a, b := decode.Addr{Lo: 0xffff_0a00_0001}, decode.Addr{Lo: 0xffff_0a00_0002}
	p := track.Packet{
		Time: int64(1000 * (i + 1)), Number: uint64(i + 1), Kind: decode.AddrIPv4, Version: record.V2, SrcPort: 50000, ID: uint16(i),
		Opcode: x.op, PSN: x.psn, Payload: uint16(x.payload), DMALen: x.dmaLen, MSN: x.msn, WireLen: x.payload + 62,
		Src: a, Dst: b, DestQP: 200,
	}
	if x.op >= respFirst && x.op <= ack {
		p.Src, p.Dst, p.DestQP = b, a, 100
		p.Syndrome = 0x1f
	}
	p.Hash()
	return &p
}

// follow lets a tracker have the packets.
func follow(list []sent) (record.Sessions, []record.Event) {
	t := track.New(track.Config{MaxEvents: 100})
	for i := range list {
		t.Add([]*track.Packet{list[i].packet(i)})
	}
	t.Close(0)
	sessions, events, _ := track.Records(track.Config{MaxEvents: 1 << 20}, t)
	return sessions, events
}

// TestConformance breaks one rule at a time, and none.
func TestConformance(t *testing.T) {
	for _, c := range []struct {
		name    string
		packets []sent
		want    []string // rules
	}{
		{"messages in order", []sent{
			{sendOnly, 10, 64, 0, 0}, {ack, 10, 0, 0, 1}, {sendFirst, 11, 1024, 0, 0}, {sendMiddle, 12, 1024, 0, 0}, {sendLast, 13, 1, 0, 0},
			{ack, 13, 0, 0, 2}, {writeFirst, 14, 1024, 1030, 0}, {writeLast, 15, 6, 0, 0}, {writeOnly, 16, 0, 0, 0}, {ack, 16, 0, 0, 4},
		}, nil},
		{"a READ and its answer", []sent{
			{sendFirst, 10, 1024, 0, 0}, {sendLast, 11, 1024, 0, 0}, {ack, 11, 0, 0, 1}, {readReq, 12, 0, 2100, 0}, {respFirst, 12, 1024, 0, 2},
			{respMiddle, 13, 1024, 0, 0}, {respLast, 14, 52, 0, 2}, {readReq, 15, 0, 0, 0}, {respOnly, 15, 0, 0, 3},
		}, nil},
		{"Middle without First", []sent{{sendOnly, 10, 64, 0, 0}, {ack, 10, 0, 0, 1}, {sendMiddle, 11, 1024, 0, 0}}, []string{"opcode_order"}},
		{"First after First", []sent{{sendFirst, 10, 1024, 0, 0}, {sendFirst, 11, 1024, 0, 0}}, []string{"opcode_order"}},
		{"a WRITE that ends as a SEND", []sent{{writeFirst, 10, 1024, 1030, 0}, {sendLast, 11, 6, 0, 0}}, []string{"opcode_order"}},
		{"a gap between", []sent{{sendFirst, 10, 1024, 0, 0}, {sendOnly, 15, 64, 0, 0}}, nil},
		{"the capture begins in a message", []sent{{sendMiddle, 10, 1024, 0, 0}, {sendLast, 11, 9, 0, 0}, {sendOnly, 12, 9, 0, 0}}, nil},
		{"a short Middle", []sent{{sendFirst, 10, 1024, 0, 0}, {sendMiddle, 11, 1000, 0, 0}}, []string{"payload_length"}},
		{"an empty Last", []sent{{sendFirst, 10, 1024, 0, 0}, {sendLast, 11, 0, 0, 0}}, []string{"payload_length"}},
		{"a long Only", []sent{{sendFirst, 10, 1024, 0, 0}, {sendLast, 11, 1, 0, 0}, {sendOnly, 12, 1025, 0, 0}}, []string{"payload_length"}},
		{"a WRITE too short", []sent{{writeFirst, 10, 1024, 2048, 0}, {writeLast, 11, 1000, 0, 0}}, []string{"dma_length"}},
		{"a WRITE too long", []sent{{writeFirst, 10, 1024, 1500, 0}, {writeMid, 11, 1024, 0, 0}, {writeLast, 12, 1000, 0, 0}}, []string{"dma_length"}},
		{"a WRITE Only of another length", []sent{{writeOnly, 10, 100, 99, 0}}, []string{"dma_length"}},
		{"an answer of one response too many", []sent{
			{sendFirst, 10, 1024, 0, 0}, {sendLast, 11, 1, 0, 0}, {ack, 11, 0, 0, 1}, {readReq, 12, 0, 2048, 0}, {respFirst, 12, 1024, 0, 1},
			{respMiddle, 13, 1024, 0, 1}, {respLast, 14, 1024, 0, 1},
		}, []string{"response_order", "response_beyond"}},
		{"an answer that ends too early", []sent{
			{sendFirst, 10, 1024, 0, 0}, {sendLast, 11, 1, 0, 0}, {ack, 11, 0, 0, 1}, {readReq, 12, 0, 3072, 0}, {respFirst, 12, 1024, 0, 1},
			{respLast, 13, 1024, 0, 1},
		}, []string{"response_order"}},
		{"an answer of another length", []sent{
			{sendFirst, 10, 1024, 0, 0}, {sendLast, 11, 1, 0, 0}, {ack, 11, 0, 0, 1}, {readReq, 12, 0, 100, 0}, {respOnly, 12, 96, 0, 1},
		}, []string{"response_length"}},
		{"the MSN falls", []sent{
			{sendOnly, 10, 64, 0, 0}, {ack, 10, 0, 0, 7}, {sendOnly, 11, 64, 0, 0}, {ack, 11, 0, 0, 6},
		}, []string{"msn_backwards"}},
		{"the MSN wraps", []sent{
			{sendOnly, 10, 64, 0, 0}, {ack, 10, 0, 0, 0xffffff}, {sendOnly, 11, 64, 0, 0}, {ack, 11, 0, 0, 0},
		}, nil},
		{"an ACK that another overtook", []sent{
			{sendOnly, 10, 64, 0, 0}, {sendOnly, 11, 64, 0, 0}, {ack, 11, 0, 0, 7}, {ack, 10, 0, 0, 6},
		}, nil},
		{"nobody answers", []sent{{sendOnly, 10, 64, 0, 0}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			sessions, events := follow(c.packets)
			var got []string
			for i := range events {
				if d, is := events[i].Detail.(record.ProtocolError); is {
					got = append(got, d.Rule)
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("rules broken (-want +got):\n%s", d)
			}
			n := uint64(0)
			for s := range sessions.All() {
				n += s.AToB.ProtocolErrors + s.BToA.ProtocolErrors
			}
			if n != uint64(len(c.want)) {
				t.Errorf("%d errors counted", n)
			}
		})
	}
}
