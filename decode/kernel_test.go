package decode_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/capture/frametest"
	"github.com/rocelens/rocelens/decode"
)

// kernelVM runs the filter as the kernel would.
func kernelVM(t *testing.T, cfg decode.Config, snaplen uint32) *bpf.VM {
	t.Helper()
	raw, err := decode.KernelFilter(cfg, snaplen)
	if err != nil {
		t.Fatal(err)
	}
	const kernelMost = 4096
	if len(raw) > kernelMost {
		t.Fatalf("%d instructions", len(raw))
	}
	list, ok := bpf.Disassemble(raw)
	if !ok {
		t.Fatal("not all of it can be disassembled")
	}
	vm, err := bpf.NewVM(list)
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

func run(t *testing.T, vm *bpf.VM, frame []byte) int {
	t.Helper()
	n, err := vm.Run(frame)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// untagged takes the outermost VLAN tag out, as the kernel does.
func untagged(frame []byte) []byte {
	if len(frame) > 18 && (bytes.Equal(frame[12:14], []byte{0x81, 0}) || bytes.Equal(frame[12:14], []byte{0x88, 0xa8})) {
		return append(bytes.Clone(frame[:12]), frame[16:]...)
	}
	return frame
}

// TestKernelFilterKeeps: of all captures, nothing is dropped that the decoder
// takes for RoCE or flow control, or in which it finds a tunnel.
func TestKernelFilterKeeps(t *testing.T) {
	vm := kernelVM(t, decode.DefaultConfig(), 0)
	dec := decode.New(decode.DefaultConfig())
	kept, dropped := 0, 0
	for _, c := range capturetest.All(t) {
		var p decode.Packet
		frametest.Each(t, c.Path, func(f *capture.Frame) {
			if f.Link != capture.LinkEthernet {
				return
			}
			dec.Decode(f, &p)
			n := run(t, vm, untagged(f.Data))
			if n == 0 {
				dropped++
			} else {
				kept++
			}
			if n < len(untagged(f.Data)) && (p.RoCE() || p.Kind == decode.KindPFC || p.Kind == decode.KindPause || p.Encap&^(decode.EncapVLAN|decode.EncapQinQ) != 0) {
				t.Fatalf("%s, frame %d (%v): %d bytes are kept", c.Name, f.Number, p.Kind, n)
			}
		})
	}
	if kept == 0 || dropped == 0 {
		t.Errorf("%d kept, %d dropped: not both were tried", kept, dropped)
	}
	t.Logf("%d kept, %d dropped", kept, dropped)
}

func TestKernelFilter(t *testing.T) {
	ether := func(et uint16, payload []byte) []byte {
		return append(append(make([]byte, 12), byte(et>>8), byte(et)), payload...)
	}
	ipv4 := func(proto byte, options int, fragment uint16, port uint16) []byte {
		b := make([]byte, 20+4*options+60)
		b[0], b[9] = 0x45+byte(options), proto
		binary.BigEndian.PutUint16(b[6:], fragment)
		binary.BigEndian.PutUint16(b[20+4*options+2:], port)
		return b
	}
	ipv6 := func(next byte, port uint16) []byte {
		b := make([]byte, 40+60)
		b[0], b[6] = 0x60, next
		binary.BigEndian.PutUint16(b[42:], port)
		return b
	}
	tag := func(et uint16, inner []byte) []byte { // puts a tag in front of inner's ethertype
		return ether(et, append([]byte{0, 7}, inner[12:]...))
	}
	const udp, tcp = 17, 6
	roce := ether(0x0800, ipv4(udp, 0, 0x4000, 4791))
	const kept = 128
	for _, tc := range []struct {
		name  string
		frame []byte
		keep  bool
	}{
		{"RoCEv2", roce, true},
		{"behind IP options", ether(0x0800, ipv4(udp, 10, 0, 4791)), true},
		{"over IPv6", ether(0x86dd, ipv6(udp, 4791)), true},
		{"behind an IPv6 extension", ether(0x86dd, ipv6(0, 0)), true},
		{"one tag left", tag(0x8100, roce), true},
		{"two tags left", tag(0x88a8, tag(0x8100, roce)), true},
		{"three tags left", tag(0x88a8, tag(0x8100, tag(0x8100, ether(0x0800, ipv4(tcp, 0, 0, 80))))), true},
		{"TCP behind two tags", tag(0x88a8, tag(0x8100, ether(0x0800, ipv4(tcp, 0, 0, 4791)))), false},
		{"first fragment", ether(0x0800, ipv4(udp, 0, 0x2000, 4791)), true},
		{"later fragment", ether(0x0800, ipv4(udp, 0, 0x2001, 4791)), false},
		{"RoCEv1", ether(0x8915, make([]byte, 60)), true},
		{"MAC control", ether(0x8808, make([]byte, 46)), true},
		{"MPLS", ether(0x8847, make([]byte, 46)), true},
		{"VXLAN", ether(0x0800, ipv4(udp, 0, 0, 4789)), true},
		{"Geneve over IPv6", ether(0x86dd, ipv6(udp, 6081)), true},
		{"GRE", ether(0x0800, ipv4(47, 0, 0, 0)), true},
		{"ICMP", ether(0x0800, ipv4(1, 0, 0, 0)), true},
		{"a further port", ether(0x0800, ipv4(udp, 0, 0, 18515)), true},
		{"SNAP", ether(100, append([]byte{0xaa, 0xaa, 3}, make([]byte, 97)...)), true},
		{"spanning tree", ether(38, append([]byte{0x42, 0x42, 3}, make([]byte, 43)...)), false},
		{"TCP", ether(0x0800, ipv4(tcp, 0, 0, 4791)), false},
		{"DNS", ether(0x0800, ipv4(udp, 0, 0, 53)), false},
		{"TCP over IPv6", ether(0x86dd, ipv6(tcp, 4791)), false},
		{"ARP", ether(0x0806, make([]byte, 46)), false},
		{"LLDP", ether(0x88cc, make([]byte, 46)), false},
		{"cut in the IP header", roce[:20], false},
		{"nothing", nil, false},
	} {
		vm := kernelVM(t, decode.Config{RoCEPorts: []uint16{18515}}, kept)
		want := 0
		if tc.keep {
			want = min(kept, len(tc.frame)) // the VM says no more than there is, the kernel says kept
		}
		if n := min(run(t, vm, tc.frame), len(tc.frame)); n != want {
			t.Errorf("%s: %d bytes of %d are kept, not %d", tc.name, n, len(tc.frame), want)
		}
	}
}
