package layers_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	roce "github.com/rocelens/rocelens/decode/layers"
)

// Opcodes and ICRC of a capture. Package capture reads the file, gopacket
// decodes it.
func Example() {
	roce.Register()
	src, err := capture.Open("../../testdata/captures/nak_invalid_request_read.pcap.zst", capture.DefaultConfig())
	if err != nil {
		slog.Error(err.Error())
		return
	}
	defer src.Close()
	var batch capture.Batch
	for err = src.ReadBatch(&batch); err == nil; err = src.ReadBatch(&batch) {
		for _, frame := range batch.Frames {
			packet := gopacket.NewPacket(frame.Data, layers.LayerTypeEthernet, gopacket.NoCopy)
			bth, ok := packet.Layer(roce.LayerTypeBTH).(*roce.BTH)
			if !ok {
				continue
			}
			fmt.Print(bth.Opcode, " PSN ", bth.PSN, ", ICRC ", roce.VerifyICRC(packet).Status)
			if bth.AETH != nil {
				fmt.Print(", ", bth.AETH.Syndrome)
			}
			fmt.Println()
		}
	}
	if !errors.Is(err, io.EOF) {
		slog.Error(err.Error())
	}
	// Output:
	// RC_SEND_ONLY PSN 13875652, ICRC good
	// RC_ACKNOWLEDGE PSN 13875652, ICRC good, ACK
	// RC_SEND_ONLY PSN 13875653, ICRC good
	// RC_SEND_ONLY PSN 13875654, ICRC good
	// RC_SEND_ONLY PSN 13875655, ICRC good
	// RC_SEND_ONLY PSN 13875656, ICRC good
	// RC_ACKNOWLEDGE PSN 13875653, ICRC good, ACK
	// RC_ACKNOWLEDGE PSN 13875654, ICRC good, ACK
	// RC_ACKNOWLEDGE PSN 13875655, ICRC good, ACK
	// RC_ACKNOWLEDGE PSN 13875656, ICRC good, ACK
	// RC_RDMA_READ_REQUEST PSN 13875657, ICRC good
	// RC_ACKNOWLEDGE PSN 13875657, ICRC good, NAK, invalid request
}

// A RoCEv2 packet: an RDMA WRITE of five bytes, with pad, lengths and ICRC
// computed.
func ExampleSerialize() {
	message := gopacket.Payload("hello")
	bth := &roce.BTH{
		Opcode: 0x0a, MigReq: true, PKey: 0xffff, DestQP: 0x11, PSN: 1, AckReq: true,
		RETH: &roce.RETH{VA: 0x7f0000001000, RKey: 0x1234, DMALen: uint32(len(message))},
	}
	buf := gopacket.NewSerializeBuffer()
	err := roce.Serialize(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
		&layers.Ethernet{SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, DstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 2}, EthernetType: layers.EthernetTypeIPv4},
		&layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, Flags: layers.IPv4DontFragment, SrcIP: net.IP{192, 0, 2, 1}, DstIP: net.IP{192, 0, 2, 2}},
		&layers.UDP{SrcPort: 49152, DstPort: roce.UDPPortRoCEv2},
		bth, message)
	if err != nil {
		slog.Error(err.Error())
		return
	}
	fmt.Printf("%d bytes, %v, pad %d, ICRC %08x\n", len(buf.Bytes()), bth.Opcode.Text(), bth.PadCount, bth.ICRC)

	frame := capture.Frame{Data: buf.Bytes(), OrigLen: uint32(len(buf.Bytes())), Link: capture.LinkEthernet, FCSLen: -1}
	d := decode.New(decode.DefaultConfig())
	var p decode.Packet
	d.Decode(&frame, &p)
	d.VerifyICRC(&p)
	fmt.Println(string(decode.AppendInfo(nil, &p)), "ICRC", p.ICRCStatus)
	// Output:
	// 82 bytes, RC RDMA WRITE Only, pad 3, ICRC 3b6381c9
	// RC RDMA WRITE Only QP 0x000011 PSN 1 A VA 0x7f0000001000 R_Key 0x00001234 length 5 payload 5 ICRC good
}
