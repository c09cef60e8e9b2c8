package layers_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/gopacket"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/capture/frametest"
	"github.com/rocelens/rocelens/decode"
	roce "github.com/rocelens/rocelens/decode/layers"
)

// TestBuiltPackets builds packets, writes them to a pcap file and lets tshark
// and package decode read them.
func TestBuiltPackets(t *testing.T) {
	payload := gopacket.Payload("thirty-one bytes of a message..")
	var want []string
	pcap := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	for _, v := range []uint32{2 | 4<<16, 0, 0, 65535, 1} { // version 2.4, Ethernet
		pcap = binary.LittleEndian.AppendUint32(pcap, v)
	}
	for _, name := range []string{"IPv4", "IPv6", "GRH"} {
		for _, ls := range [][]gopacket.SerializableLayer{
			{&roce.BTH{Opcode: 0x0b, PKey: 0xffff, DestQP: 0x1234, PSN: 99, AckReq: true, RETH: &roce.RETH{VA: 1 << 40, RKey: 7, DMALen: 31}, ImmDt: &roce.ImmDt{Data: 5}}, payload},
			{&roce.BTH{Opcode: decode.OpUDSendOnly, PKey: 0xffff, DestQP: 0x77, PSN: 100, DETH: &roce.DETH{QKey: 0x11111111, SrcQP: 0x78}}, payload},
			{ack()},
			{&roce.BTH{Opcode: decode.OpCNP, PKey: 0xffff, DestQP: 0x1235, BECN: true}, new(roce.CNP)},
		} {
			frame := serialize(t, append(stacks()[name], ls...)...)
			for _, v := range []uint32{0, 0, uint32(len(frame)), uint32(len(frame))} {
				pcap = binary.LittleEndian.AppendUint32(pcap, v)
			}
			pcap = append(pcap, frame...)
			b := ls[0].(*roce.BTH)
			want = append(want, fmt.Sprintf("%d\t0x%06x\t%d\t0x%08x", b.Opcode, b.DestQP, b.PSN, b.ICRC))
		}
	}
	path := filepath.Join(t.TempDir(), "built.pcap")
	if err := os.WriteFile(path, pcap, 0o600); err != nil {
		t.Fatal(err)
	}

	var got []string
	frametest.Each(t, path, func(f *capture.Frame) {
		p := ours(f)
		if p.ICRCStatus != decode.ICRCGood || p.Malformed() {
			t.Errorf("frame %d: ICRC %v, %v", f.Number, p.ICRCStatus, p.Err)
		}
		got = append(got, fmt.Sprintf("%d\t0x%06x\t%d\t0x%08x", p.Opcode, p.DestQP, p.PSN, p.ICRC))
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("package decode (-built +read):\n%s", diff)
	}

	capturetest.Need(t, "tshark")
	out := capturetest.RunTshark(t, path, "-T", "fields", "-e", "infiniband.bth.opcode", "-e", "infiniband.bth.destqp",
		"-e", "infiniband.bth.psn", "-e", "infiniband.invariant.crc", "-e", "_ws.malformed")
	got = nil
	for i := range want {
		// tshark 4.0 and 4.4 take 129 for an unknown opcode, and show no ICRC.
		if strings.HasPrefix(want[i], "129\t") {
			want[i] = want[i][:strings.LastIndex(want[i], "\t")]
		}
	}
	for line := range bytes.Lines(out) {
		s := string(bytes.TrimRight(line, "\t\n"))
		if strings.HasPrefix(s, "129\t") {
			s = strings.Join(strings.Split(s, "\t")[:3], "\t")
		}
		got = append(got, s)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tshark (-built +read):\n%s", diff)
	}
}
