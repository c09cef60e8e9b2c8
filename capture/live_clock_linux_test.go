package capture

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// fakeRing is a ring as if the kernel had handed over blocks, each with a frame of
// such a time.
func fakeRing(name string, times ...int64) *ring {
	r := &ring{name: name, now: name, blocks: len(times) + 1}
	r.mem = make([]byte, r.blocks*ringBlock)
	for i, at := range times {
		block := r.mem[i*ringBlock:]
		const first = 64
		binary.NativeEndian.PutUint32(block[blockStatus:], unix.TP_STATUS_USER)
		binary.NativeEndian.PutUint32(block[blockFrames:], 1)
		binary.NativeEndian.PutUint32(block[blockFirst:], first)
		*(*unix.Tpacket3Hdr)(unsafe.Pointer(&block[first])) = unix.Tpacket3Hdr{Sec: uint32(at / 1e9), Nsec: uint32(at % 1e9), Snaplen: 60, Len: 60, Mac: 80}
	}
	return r
}

// TestLiveClockBack: a frame from before the clock was put back does not wait for
// its time to come again while another interface has frames without end.
func TestLiveClockBack(t *testing.T) {
	const hour = int64(time.Hour)
	old := 1000 * hour
	var later []int64
	for i := range int64(40) {
		later = append(later, old-hour+i*1000)
	}
	l := &Live{cfg: DefaultLiveConfig("a", "b"), rings: []*ring{fakeRing("a", old), fakeRing("b", later...)}}
	l.rings[0].ready()
	var b Batch
	b.reset()
	l.fill(&b)
	at := -1
	for i, f := range b.Frames {
		if f.Time == old {
			at = i
		}
	}
	if at != 0 {
		t.Errorf("the frame from before is number %d of %d", at, len(b.Frames))
	}
}

// TestLiveClockSet: it is told that the clock was set.
func TestLiveClockSet(t *testing.T) {
	var said bytes.Buffer
	l := &Live{cfg: DefaultLiveConfig("a")}
	l.cfg.Log = slog.New(slog.NewTextHandler(&said, nil))
	for range 3 {
		l.clock(time.Now())
	}
	if said.Len() > 0 {
		t.Errorf("%s", said.String())
	}
	for by, want := range map[time.Duration]string{time.Hour: "put forward, or the machine was asleep", -time.Hour: "the clock was put back"} {
		said.Reset()
		l.wall -= int64(by)
		l.clock(time.Now())
		if !strings.Contains(said.String(), want) || !strings.Contains(said.String(), "by=1h0m0s") {
			t.Errorf("%v: %s", by, said.String())
		}
	}
}
