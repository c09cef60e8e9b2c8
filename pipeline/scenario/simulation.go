package scenario

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"

	"github.com/rocelens/rocelens/capture"
)

// Defaults of what a Spec leaves open.
const (
	defaultSpeed    = 100e9
	defaultLatency  = 1000 // ns
	defaultLimit    = 10 * time.Minute
	defaultMTU      = 1024
	defaultWindow   = 64
	defaultMaxReads = 16
	defaultReact    = 2 * time.Microsecond
	defaultDelay    = time.Microsecond
	defaultTimeout  = 12 // 16.8 ms
	defaultRetries  = 7
	defaultCNPs     = 50 * time.Microsecond
)

// Sink is what takes the frames: a capture.Writer is one.
type Sink interface {
	WriteFrame(f *capture.Frame, comments ...string) error
}

// simulation is one run.
type simulation struct {
	engine
	spec     *Spec
	hosts    []*host
	sessions []*session
	tap      tap
	line     *line // nil where there is only the tap
	truth    *Truth
	paused   bool // the first host is, by flow control
}

// Run simulates a spec, writes what the tap sees to sink and returns the truth.
// The spec's faults count in it, so that a Spec is good for one run.
func Run(spec *Spec, sink Sink) (*Truth, error) { return runLine(spec, sink, nil) }

// runLine simulates a spec with the points of l, if there are any.
func runLine(spec *Spec, sink Sink, l *line) (*Truth, error) {
	s := &simulation{spec: spec, line: l}
	if l != nil {
		l.s = s
	}
	name := fnv.New64a()
	_, _ = name.Write([]byte(spec.Name))
	s.rng = rand.New(rand.NewPCG(spec.Seed, name.Sum64()))
	s.setDefaults()
	s.truth = &Truth{Scenario: spec.Name, Seed: spec.Seed}
	s.tap.init(s, sink)
	lives := make(map[string]int)
	for i := range spec.Sessions {
		se := newSession(s, i)
		key := fmt.Sprint(spec.Sessions[i].A.Host, spec.Sessions[i].A.QPN, spec.Sessions[i].B.Host, spec.Sessions[i].B.QPN)
		lives[key]++
		se.truth.Life = lives[key]
		s.sessions = append(s.sessions, se)
	}
	for i, se := range s.sessions {
		if err := se.spec.check(); err != nil {
			return nil, fmt.Errorf("session %d: %w", i, err)
		}
		after := spec.Sessions[i].After
		switch {
		case after < 0 || after > i:
			return nil, fmt.Errorf("session %d can't start after session %d", i, after-1)
		case after > 0:
			first := s.sessions[after-1]
			first.then = append(first.then, se)
		default:
			s.at(int64(se.spec.Start), se.begin)
		}
	}
	s.pausing()
	s.run(int64(spec.Limit))
	if s.tap.err != nil {
		return nil, s.tap.err
	}
	s.finish()
	return s.truth, nil
}

func (s *simulation) setDefaults() {
	spec := s.spec
	setIfZero(&spec.Limit, defaultLimit)
	setIfZero(&spec.Network.Speed, defaultSpeed)
	setIfZero(&spec.Network.LatencyA, defaultLatency)
	setIfZero(&spec.Network.LatencyB, defaultLatency)
	for i := range spec.Sessions {
		se := &spec.Sessions[i]
		setIfZero(&se.Service, RC)
		setIfZero(&se.PathMTU, defaultMTU)
		r := &se.Requester
		setIfZero(&r.Mode, GoBackN)
		setIfZero(&r.Window, defaultWindow)
		setIfZero(&r.MaxReads, defaultMaxReads)
		setIfZero(&r.AckTimeout, defaultTimeout)
		setIfZero(&r.RetryCount, defaultRetries)
		setIfZero(&r.RNRRetry, defaultRetries)
		setIfZero(&r.React, defaultReact)
		setIfZero(&se.Responder.Delay, defaultDelay)
		setIfZero(&se.Responder.CNPInterval, defaultCNPs)
	}
}

func setIfZero[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// host returns a host, made when it is first asked for.
func (s *simulation) host(i int) *host {
	for len(s.hosts) <= i {
		n := len(s.hosts)
		s.hosts = append(s.hosts, &host{addr: s.addr(n), mac: hostMAC(n), ipid: uint16(s.rng.Uint32())})
	}
	return s.hosts[i]
}

func (s *simulation) hostOf(se *session, side int) *host { return s.host(se.spec.side(side).Host) }

// serialise is how long a packet takes to be sent, in ns: with preamble, FCS
// and the gap between frames.
func (s *simulation) serialise(p *packet) int64 {
	const between = 24
	n := float64(s.wireLen(p)+between) * 8 * 1e9 / float64(s.spec.Network.Speed)
	return int64(math.Ceil(n))
}

// stamp is the capture time of a moment of the virtual clock.
func stamp(t int64) int64 { return epoch + t }
