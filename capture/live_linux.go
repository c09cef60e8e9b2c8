package capture

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Live captures from network interfaces, in the order of time.
type Live struct {
	cfg     LiveConfig
	rings   []*ring
	polled  []unix.PollFd
	watched time.Time
	checked time.Time // when the clock was looked at
	wall    int64     // what it said then
}

// Look says which interfaces are not there at the moment. That needs no capability.
func (c *LiveConfig) Look() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening a socket: %w", err)
	}
	defer unix.Close(fd)
	for _, name := range c.Interfaces {
		if _, err := interfaceFlags(fd, name); err != nil {
			return fmt.Errorf("interface %s: %w", PathText(name), errNoInterface)
		}
	}
	return nil
}

// OpenSockets opens a socket for each interface, and does no more with it than what
// needs a capability. They hear nothing yet.
func OpenSockets(cfg LiveConfig) (fds []int, err error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			closeAll(fds)
		}
	}()
	for _, name := range cfg.Interfaces {
		fd, err := openSocket(name)
		if err != nil {
			return fds, err
		}
		fds = append(fds, fd)
		if _, err := interfaceFlags(fd, name); err != nil {
			return fds, fmt.Errorf("interface %s: %w", PathText(name), errNoInterface)
		}
		if cfg.Hardware {
			_ = askForStamps(fd, name) // whoever opens the ring looks whether it helped
		}
	}
	return fds, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

// OpenLive begins to capture. Without cfg.Sockets it needs the capability
// CAP_NET_RAW, which can be given up afterwards: interfaces that go away and come
// back do not need it again.
func OpenLive(cfg LiveConfig) (Source, error) {
	if cfg.Sockets == nil {
		fds, err := OpenSockets(cfg)
		if err != nil {
			return nil, err
		}
		cfg.Sockets = fds
	} else if err := cfg.Check(); err != nil {
		closeAll(cfg.Sockets)
		return nil, err
	}
	if len(cfg.Sockets) != len(cfg.Interfaces) {
		closeAll(cfg.Sockets)
		return nil, fmt.Errorf("%d sockets for %d interfaces", len(cfg.Sockets), len(cfg.Interfaces))
	}
	l := &Live{cfg: cfg, watched: time.Now()}
	l.clock(l.watched)
	for i, name := range cfg.Interfaces {
		r, err := openRing(cfg.Sockets[i], name, &cfg)
		if err != nil {
			closeAll(cfg.Sockets[i+1:])
			return nil, errors.Join(err, l.Close())
		}
		l.rings = append(l.rings, r)
	}
	l.polled = make([]unix.PollFd, len(l.rings))
	return l, nil
}

// ReadBatch fills b with frames that are there, or waits for some. Other than
// of files, b can have no frames: nothing came for a while.
func (l *Live) ReadBatch(b *Batch) error {
	b.reset()
	b.buf = b.buf[:0]
	deadline := time.Now().Add(l.cfg.Tick)
	some := false
	for {
		if l.cfg.Context.Err() != nil {
			return ErrInterrupted
		}
		wait := l.fill(b)
		now := time.Now()
		if now.Sub(l.watched) >= watchEvery {
			l.watched = now
			l.watch()
			l.clock(now)
		}
		switch {
		case len(b.Frames) > 0 && !some: // a batch of few costs as much as one of many
			some = true
			if now.Add(blockWait).Before(deadline) {
				deadline = now.Add(blockWait)
			}
		}
		switch {
		case len(b.Frames) >= BatchFrames/2, some && !now.Before(deadline):
			b.Now = b.Frames[len(b.Frames)-1].Time
			return nil
		case !now.Before(deadline):
			b.Now = now.Add(-blockWait - otherWait).UnixNano()
			return nil
		}
		if wait <= 0 || wait > deadline.Sub(now) {
			wait = deadline.Sub(now)
		}
		l.wait(wait)
	}
}

// fill takes frames as long as it is certain that none with an earlier time will
// follow, and returns when the next one may be taken, 0 where there is none.
func (l *Live) fill(b *Batch) time.Duration {
	for len(b.Frames) < BatchFrames {
		first, all := l.first()
		if first < 0 {
			return 0
		}
		if r := l.rings[first]; !all && len(l.rings) > 1 {
			if rest := otherWait - time.Since(r.seen); rest > 0 {
				return rest
			}
		}
		l.rings[first].take(b, int32(first))
	}
	return 0
}

// first is the ring with the earliest frame, -1 where there is none; all says that
// none has to be waited for. Where times are so far apart that a clock must have
// been set, it is the one with the frame that has waited longest: else that would
// go on waiting until its time comes once more.
func (l *Live) first() (first int, all bool) {
	first, all = -1, true
	oldest := -1
	var least, most int64
	for i, r := range l.rings {
		if !r.ready() {
			all = all && r.down
			continue
		}
		t := r.time()
		if first < 0 || t < least {
			first, least = i, t
		}
		if oldest < 0 || r.seen.Before(l.rings[oldest].seen) {
			oldest = i
		}
		most = max(most, t)
	}
	if first >= 0 && most-least > clockApart {
		first = oldest
	}
	return first, all
}

// clock tells that the clock was set, which frames have their times from.
func (l *Live) clock(now time.Time) {
	by := time.Duration(now.UnixNano()-l.wall) - now.Sub(l.checked)
	first := l.checked.IsZero()
	l.checked, l.wall = now, now.UnixNano()
	switch {
	case first:
	case by > clockSet:
		l.cfg.Log.Warn("the clock was put forward, or the machine was asleep", "by", by.Round(time.Millisecond))
	case by < -clockSet:
		l.cfg.Log.Warn("the clock was put back", "by", (-by).Round(time.Millisecond))
	}
}

// wait waits for frames.
func (l *Live) wait(d time.Duration) {
	for i, r := range l.rings {
		l.polled[i] = unix.PollFd{Fd: int32(r.fd), Events: unix.POLLIN}
		if r.down || r.deaf || r.have { // its error would be told without end; its frames wait for others
			l.polled[i].Fd = -1
		}
	}
	n, err := unix.Poll(l.polled, int((d+time.Millisecond-1)/time.Millisecond))
	if err != nil || n == 0 {
		return
	}
	for i, r := range l.rings {
		if l.polled[i].Fd >= 0 && l.polled[i].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0 {
			if e, err := unix.GetsockoptInt(r.fd, unix.SOL_SOCKET, unix.SO_ERROR); err != nil || e != 0 {
				r.deaf = true
				l.watched = time.Time{} // look at once why
			}
		}
	}
}

// watch looks what became of the interfaces, and what the kernel counted.
func (l *Live) watch() {
	for _, r := range l.rings {
		if r.count(); r.dropped > r.told {
			l.cfg.Log.Warn("frames were lost, as the ring is full: the processors don't keep up", "interface", r.name, "frames", r.dropped-r.told)
			r.told = r.dropped
		}
		l.look(r)
	}
}

func (l *Live) look(r *ring) {
	log := l.cfg.Log.With("interface", r.name)
	r.deaf = false
	name, err := interfaceName(r.fd, r.index)
	if r.index == 0 || err != nil {
		if r.index != 0 {
			log.Warn("the interface is gone: capturing goes on when one of that name comes")
			r.index, r.down = 0, true
		}
		if _, err := interfaceIndex(r.fd, r.name); err != nil {
			return
		}
		if err := r.bind(r.name); err != nil {
			log.Warn("the interface is back, and can't be captured on", "error", err)
			return
		}
		if l.cfg.Hardware {
			r.stamp(&l.cfg)
		}
		log.Info("the interface is back")
		name, r.now = r.name, r.name
	}
	if name != r.now {
		log.Warn("the interface has another name", "name", name)
		r.now = name
	}
	flags, err := interfaceFlags(r.fd, name)
	if err != nil {
		return // it went away this moment
	}
	switch up := flags&unix.IFF_UP != 0; {
	case !up && !r.down:
		log.Warn("the interface is down")
		r.down = true
	case up && r.down:
		log.Info("the interface is up")
		r.down = false
	}
}

// Inputs has one for each interface.
func (l *Live) Inputs() []Input {
	all := make([]Input, len(l.rings))
	for i, r := range l.rings {
		r.count()
		received, dropped, sum := r.received, r.dropped, r.dropped
		all[i] = Input{
			Path: r.name, Frames: r.frames, Bytes: r.bytes, Drops: &sum,
			Interfaces: []Interface{{Link: LinkEthernet, FCSLen: -1, Name: r.name, MAC: r.mac, TSResol: 9, Down: r.down, Gone: r.index == 0, Received: &received, Dropped: &dropped}},
		}
	}
	return all
}

// Close ends capturing.
func (l *Live) Close() error {
	for _, r := range l.rings {
		r.close()
	}
	l.rings = nil
	return nil
}
