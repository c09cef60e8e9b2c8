package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/rocelens/rocelens/capture/livetest"
)

// cable makes two interfaces that are connected.
func cable(t *testing.T, a, b string) {
	t.Helper()
	livetest.IP(t, "link add "+a+" type veth peer name "+b)
	for _, name := range []string{a, b} {
		livetest.IP(t, "link set "+name+" mtu 9000 up")
	}
	up(t, a, b)
}

// up waits until interfaces have a carrier: before, what is sent goes nowhere, and
// nobody says so.
func up(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			out, err := exec.Command("ip", "-brief", "link", "show", "dev", name).CombinedOutput()
			if err == nil && strings.Contains(string(out), " UP ") {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s does not come up: %v: %s", name, err, out)
			}
		}
	}
}

// sender sends frames on an interface.
func sender(t *testing.T, name string) func(frame []byte) {
	t.Helper()
	iface, err := net.InterfaceByName(name)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	livetest.OnOneProcessor(t)
	return func(frame []byte) {
		t.Helper()
		if err := unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: iface.Index}); err != nil {
			t.Fatal(err)
		}
	}
}

func ethernet(n int, payload int) []byte {
	frame := make([]byte, 14+payload)
	copy(frame, []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x89, 0x15})
	copy(frame[14:], fmt.Sprintf("%08d", n))
	return frame
}

func live(t *testing.T, change func(*LiveConfig), interfaces ...string) *Live {
	t.Helper()
	cfg := DefaultLiveConfig(interfaces...)
	cfg.Filter = only(t, 0x8915)
	cfg.Tick = 50 * time.Millisecond
	if change != nil {
		change(&cfg)
	}
	src, err := OpenLive(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	return src.(*Live)
}

// only is a filter for an ethertype: the kernel sends frames of its own.
func only(t *testing.T, et uint32) []bpf.RawInstruction {
	t.Helper()
	list, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: 12, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: et, SkipTrue: 1},
		bpf.RetConstant{},
		bpf.RetConstant{Val: 1 << 18},
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// receive reads frames until there are so many, or none came for a second. They
// are copies.
func receive(t *testing.T, src Source, n int) []Frame {
	t.Helper()
	var all []Frame
	var b Batch
	for last := time.Now(); len(all) < n && time.Since(last) < time.Second; {
		if err := src.ReadBatch(&b); err != nil {
			t.Fatal(err)
		}
		for _, f := range b.Frames {
			f.Data = bytes.Clone(f.Data)
			all = append(all, f)
			last = time.Now()
		}
	}
	return all
}

// TestLiveFrames: what one end of a cable sends comes out at the other, whole, in
// order, with its VLAN tags and its time.
func TestLiveFrames(t *testing.T) {
	livetest.Network(t)
	cable(t, "va", "vb")
	src := live(t, nil, "vb")
	send := sender(t, "va")
	began := time.Now().UnixNano()
	var want [][]byte
	for i := range 5000 {
		frame := ethernet(i, 8+i%8900)
		switch i % 4 {
		case 1:
			frame = append(append(bytes.Clone(frame[:12]), 0x81, 0, 0x60, 7), frame[12:]...)
		case 2: // in the order of a provider's tags
			frame = append(append(bytes.Clone(frame[:12]), 0x88, 0xa8, 0, 9), frame[12:]...)
		}
		if len(frame) > 9014 {
			frame = frame[:9014]
		}
		want = append(want, frame)
	}
	got := []Frame{}
	for i, frame := range want {
		send(frame)
		if i%500 == 499 {
			got = append(got, receive(t, src, 500)...)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d frames of %d", len(got), len(want))
	}
	total, last := uint64(0), began
	for i, f := range got {
		if !bytes.Equal(f.Data, want[i]) || int(f.OrigLen) != len(want[i]) || f.Link != LinkEthernet || f.Number != uint64(i+1) {
			t.Fatalf("frame %d: %d bytes of %d, %x, sent %d, %x", i, len(f.Data), f.OrigLen, f.Data[:min(len(f.Data), 24)], len(want[i]), want[i][:24])
		}
		if f.Time < last || f.Time > time.Now().UnixNano() {
			t.Fatalf("frame %d: time %d after %d", i, f.Time, last)
		}
		total += uint64(f.OrigLen)
		last = f.Time
	}
	in := src.Inputs()[0]
	if in.Frames != uint64(len(want)) || in.Bytes != total || in.Path != "vb" || *in.Drops != 0 || *in.Interfaces[0].Received != uint64(len(want)) {
		t.Errorf("%+v, received %d, dropped %d", in, *in.Interfaces[0].Received, *in.Drops)
	}
}

// TestLiveOrder: what crosses several interfaces comes in order of time.
func TestLiveOrder(t *testing.T) {
	livetest.Network(t)
	cable(t, "va", "vb")
	cable(t, "vc", "vd")
	cable(t, "vx", "vy") // silent
	src := live(t, nil, "vb", "vd", "vy")
	send := []func([]byte){sender(t, "va"), sender(t, "vc")}
	const n = 3000
	var got []Frame
	for i := range n {
		send[i*i%7%2](ethernet(i, 60))
		if i%500 == 499 {
			got = append(got, receive(t, src, 500)...)
		}
	}
	if len(got) != n {
		t.Fatalf("%d frames of %d", len(got), n)
	}
	inputs := map[int32]int{}
	for i, f := range got {
		if want := fmt.Sprintf("%08d", i); string(f.Data[14:22]) != want {
			t.Fatalf("frame %d is %s", i, f.Data[14:22])
		}
		inputs[f.Input]++
	}
	if inputs[0] == 0 || inputs[1] == 0 || inputs[2] != 0 {
		t.Errorf("frames by input: %v", inputs)
	}
}

// TestLiveLoses: what does not fit into the ring is counted, to the frame.
func TestLiveLoses(t *testing.T) {
	livetest.Network(t)
	cable(t, "va", "vb")
	var said bytes.Buffer
	src := live(t, func(cfg *LiveConfig) { cfg.BufferBytes, cfg.Log = MinBuffer, slog.New(slog.NewTextHandler(&said, nil)) }, "vb")
	send := sender(t, "va")
	const n = 3000
	for i := range n {
		if send(ethernet(i, 8000)); i%100 == 99 {
			time.Sleep(2 * time.Millisecond) // the cable has a queue of its own, which must not be what loses
		}
	}
	got := receive(t, src, n)
	in := src.Inputs()[0]
	if len(got) == n || len(got) < MinBuffer/2/8100 || *in.Drops != n-uint64(len(got)) || *in.Interfaces[0].Received != n {
		t.Errorf("%d frames came of %d, %d were dropped of %d", len(got), n, *in.Drops, *in.Interfaces[0].Received)
	}
	src.watch()
	if want := fmt.Sprintf("interface=vb frames=%d\n", *in.Drops); !strings.Contains(said.String(), "frames were lost") || !strings.HasSuffix(said.String(), want) && strings.Count(said.String(), "\n") == 1 {
		t.Errorf("it says %q, want %q", said.String(), want)
	}
	for i := range 100 { // and it goes on
		send(ethernet(i, 80))
	}
	if got := receive(t, src, 100); len(got) != 100 {
		t.Errorf("%d frames of 100 after a loss", len(got))
	}
}

// TestLiveComesBack: an interface goes down and up, away and back, and changes
// its name; each is said, and capturing goes on without the right to open sockets.
func TestLiveComesBack(t *testing.T) {
	livetest.Network(t)
	cable(t, "va", "vb")
	var said bytes.Buffer
	src := live(t, func(cfg *LiveConfig) { cfg.Log = slog.New(slog.NewTextHandler(&said, nil)) }, "vb")
	n := 0
	works := func(what, message string) {
		t.Helper()
		src.watched = time.Time{}
		_ = receive(t, src, 0)
		var b Batch
		for range 3 {
			src.watched = time.Time{}
			if err := src.ReadBatch(&b); err != nil {
				t.Fatal(err)
			}
		}
		send := sender(t, "va")
		for range 10 {
			send(ethernet(n, 50))
			n++
		}
		if got := receive(t, src, 10); len(got) != 10 || string(got[9].Data[14:22]) != fmt.Sprintf("%08d", n-1) {
			t.Errorf("%s: %d frames of 10", what, len(got))
		}
		if !strings.Contains(said.String(), message) {
			t.Errorf("%s: said was %s", what, said.String())
		}
		said.Reset()
	}
	pass := func() {
		t.Helper()
		withoutRights(t, func() {
			var b Batch
			src.watched = time.Time{}
			if err := src.ReadBatch(&b); err != nil {
				t.Fatal(err)
			}
		})
	}
	works("at first", "")
	livetest.IP(t, "link set vb down")
	pass()
	if !strings.Contains(said.String(), "the interface is down") {
		t.Errorf("said was %s", said.String())
	}
	livetest.IP(t, "link set vb up")
	up(t, "va", "vb")
	works("up again", "the interface is up")
	livetest.IP(t, "link set vb down")
	livetest.IP(t, "link set vb name vz up")
	up(t, "va", "vz")
	works("renamed", "name=vz")
	livetest.IP(t, "link set vz down")
	livetest.IP(t, "link set vz name vb up")
	pass()
	livetest.IP(t, "link del vb")
	pass()
	if !strings.Contains(said.String(), "the interface is gone") {
		t.Errorf("said was %s", said.String())
	}
	if in := src.Inputs()[0].Interfaces[0]; !in.Gone || !in.Down {
		t.Errorf("%+v", in)
	}
	cable(t, "va", "vb")
	pass()
	works("made anew", "the interface is back")
	if in := src.Inputs()[0].Interfaces[0]; in.Gone || in.Down {
		t.Errorf("%+v", in)
	}
	if out, err := exec.Command("ip", "-details", "link", "show", "vb").CombinedOutput(); err != nil || !strings.Contains(string(out), "promiscuity 1") {
		t.Errorf("it is not promiscuous any more: %v, %s", err, out)
	}
}

// withoutRights runs f on this thread without any capability.
func withoutRights(t *testing.T, f func()) {
	t.Helper()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var had [2]unix.CapUserData
	if err := unix.Capget(&header, &had[0]); err != nil {
		t.Fatal(err)
	}
	none := had
	none[0].Effective, none[1].Effective = 0, 0
	if err := unix.Capset(&header, &none[0]); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Capset(&header, &had[0]); err != nil {
			t.Fatal(err)
		}
	}()
	if fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0); !errors.Is(err, unix.EPERM) {
		_ = unix.Close(fd)
		t.Fatalf("a packet socket without rights: %v", err)
	}
	f()
}

// TestLiveSockets: sockets that were opened before the rights were given up serve
// to capture.
func TestLiveSockets(t *testing.T) {
	livetest.Network(t)
	cable(t, "va", "vb")
	fds, err := OpenSockets(DefaultLiveConfig("vb"))
	if err != nil {
		t.Fatal(err)
	}
	var src *Live
	withoutRights(t, func() { src = live(t, func(c *LiveConfig) { c.Sockets = fds }, "vb") })
	send := sender(t, "va")
	for i := range 50 {
		send(ethernet(i, 60))
	}
	withoutRights(t, func() {
		if got := receive(t, src, 50); len(got) != 50 {
			t.Errorf("%d frames of 50", len(got))
		}
		if _, err := OpenLive(DefaultLiveConfig("vb")); err == nil || !strings.Contains(err.Error(), "interface vb: capturing needs the capability CAP_NET_RAW: run as root, or") {
			t.Errorf("%v", err)
		}
	})
	cfg := DefaultLiveConfig("va", "vb")
	cfg.Sockets = []int{-1}
	if _, err := OpenLive(cfg); err == nil || !strings.Contains(err.Error(), "1 sockets for 2 interfaces") {
		t.Errorf("%v", err)
	}
}

func TestLiveRefuses(t *testing.T) {
	livetest.Network(t)
	for _, tc := range []struct {
		change func(*LiveConfig)
		want   string
	}{
		{func(c *LiveConfig) { c.Interfaces = nil }, "no interface to capture on"},
		{func(c *LiveConfig) { c.Interfaces = []string{"nix0"} }, "interface nix0: there is none of that name"},
		{func(c *LiveConfig) { c.Interfaces = []string{"lo", "lo"} }, "interface lo is named twice"},
		{func(c *LiveConfig) { c.BufferBytes = 1000 }, "a buffer of 1000 bytes"},
		{func(c *LiveConfig) { c.Tick = 0 }, "a tick of 0s"},
	} {
		cfg := DefaultLiveConfig("lo")
		tc.change(&cfg)
		src, err := OpenLive(cfg)
		if err == nil {
			_ = src.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v, want %q", err, tc.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	src := live(t, func(c *LiveConfig) { c.Context = ctx }, "lo")
	cancel()
	if err := src.ReadBatch(new(Batch)); !errors.Is(err, ErrInterrupted) {
		t.Errorf("%v", err)
	}
}

// TestLiveLoopback: lo shows each frame once.
func TestLiveLoopback(t *testing.T) {
	livetest.Network(t)
	src := live(t, nil, "lo")
	send := sender(t, "lo")
	for i := range 50 {
		send(ethernet(i, 60))
	}
	if got := receive(t, src, 60); len(got) != 50 {
		t.Errorf("%d frames of 50", len(got))
	}
}

// TestLiveLook: an interface is there by each of its names, and by no other, which is
// known without any right.
func TestLiveLook(t *testing.T) {
	livetest.Network(t)
	cable(t, "va", "vb")
	livetest.IP(t, "link property add dev vb altname mirror1")
	for name, want := range map[string]string{
		"vb": "<nil>", "mirror1": "<nil>", "vc": "interface vc: there is none of that name",
	} {
		cfg := DefaultLiveConfig("va", name)
		if got := fmt.Sprint(cfg.Look()); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
