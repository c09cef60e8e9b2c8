package correlate

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
)

const (
	// maxSamples is how many packets of a tap are sampled: enough for a few
	// thousand in each direction of each of many pairs of hosts, in 6 MiB.
	maxSamples = 1 << 17
	ecnCE      = 3 // congestion experienced, RFC 3168
	// flowMemory is what a flow takes at a tap and afterwards, in bytes.
	flowMemory = 1 << 10
)

// survey is what the first reading of a tap finds: its flows, and a sample of
// its packets. Which packets are sampled depends on the packets alone, so that
// all taps sample the same ones.
type survey struct {
	flows       map[flowKey]uint32
	seen        []flowSeen
	samples     []sample
	mask        uint64 // packets are sampled whose hash has none of these bits
	maxFlows    int
	packets     uint64
	roce        uint64
	unplaced    uint64
	first, last int64
	odd         uint64 // all times or-ed by how they miss a microsecond, see resolution
	doubled     bool   // between some addresses packets come twice, as far as the samples show
	inputs      []capture.Input
}

// flowSeen is a flow at one tap.
type flowSeen struct {
	key      flowKey
	hash     uint64
	packets  uint64
	idSteps  uint64 // packets whose IP ID is not that of the one before
	lastID   uint16
	withIPID bool
}

// sample is one sampled packet.
type sample struct {
	hash    uint64
	time    int64 // of the tap's clock
	flow    uint32
	icrc    uint32
	hasICRC bool
	ttl     uint8
	ce      bool
}

func newSurvey(cfg *Config, taps int) *survey {
	return &survey{flows: make(map[flowKey]uint32), maxFlows: int(cfg.MaxMemory / 2 / int64(taps) / flowMemory)}
}

// surveyAll reads all taps, as many at a time as there are processors.
func surveyAll(ctx context.Context, taps int, open Open, cfg *Config) ([]*survey, error) {
	surveys := make([]*survey, taps)
	errs := make([]error, taps)
	var all sync.WaitGroup
	room := make(chan struct{}, runtime.GOMAXPROCS(0))
	told := teller(cfg)
	sources, err := openAll(taps, open)
	if err != nil {
		return nil, err
	}
	for i, src := range sources {
		surveys[i] = newSurvey(cfg, taps)
		all.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			errs[i] = errors.Join(surveys[i].read(ctx, src, cfg, told), src.Close())
		})
	}
	all.Wait()
	return surveys, errors.Join(errs...)
}

// openAll opens all taps, or none.
func openAll(taps int, open Open) ([]capture.Source, error) {
	sources := make([]capture.Source, 0, taps)
	for i := range taps {
		src, err := open(i)
		if err != nil {
			for _, s := range sources {
				_ = s.Close() // the first error counts
			}
			return nil, err
		}
		sources = append(sources, src)
	}
	return sources, nil
}

// teller is cfg.Progress for several goroutines, nil if there is none.
func teller(cfg *Config) func([]capture.Input) {
	if cfg.Progress == nil {
		return func([]capture.Input) {}
	}
	var mu sync.Mutex
	return func(in []capture.Input) {
		mu.Lock()
		defer mu.Unlock()
		cfg.Progress(in)
	}
}

// tellEvery is how many batches pass until progress is told again.
const tellEvery = 256

func (s *survey) read(ctx context.Context, src capture.Source, cfg *Config, told func([]capture.Input)) error {
	dec := decode.New(cfg.Decode)
	var p decode.Packet
	n := 0
	err := pipeline.EachBatch(ctx, src, func(b *capture.Batch) error {
		for i := range b.Frames {
			dec.Decode(&b.Frames[i], &p)
			s.add(&p)
		}
		if n++; n%tellEvery == 0 {
			told(src.Inputs())
		}
		return nil
	})
	s.inputs, err = inputsAfter(src, err)
	return err
}

// inputsAfter is what is known of inputs that were read, err being what that
// returned: damage is part of them, and that reading was interrupted is none.
func inputsAfter(src capture.Source, err error) ([]capture.Input, error) {
	inputs := src.Inputs()
	var damage *capture.DamagedError
	cut := errors.As(err, &damage)
	for i := range inputs {
		in := &inputs[i]
		if in.Damage != nil && errors.Is(in.Damage, capture.ErrInterrupted) {
			in.Damage = nil
		}
		if cut && in.Damage == nil && in.Path == damage.Path {
			in.Damage = damage
		}
	}
	if cut {
		err = nil
	}
	return inputs, err
}

// add takes a packet.
func (s *survey) add(p *decode.Packet) {
	t := p.Frame.Time
	if s.packets == 0 {
		s.first, s.last = t, t
	}
	s.packets++
	s.first, s.last = min(s.first, t), max(s.last, t)
	s.odd |= uint64(t % 1000)
	if !correlatable(p) {
		return
	}
	s.roce++
	key := keyOf(p)
	i, ok := s.flows[key]
	if !ok {
		if len(s.seen) >= s.maxFlows {
			s.unplaced++
			return
		}
		i = uint32(len(s.seen))
		s.flows[key] = i
		s.seen = append(s.seen, flowSeen{key: key, hash: key.hash()})
	}
	f := &s.seen[i]
	if p.AddrKind == decode.AddrIPv4 {
		if f.packets > 0 && p.IPID != f.lastID {
			f.idSteps++
		}
		f.lastID, f.withIPID = p.IPID, true
	}
	f.packets++
	h := identityOf(p).hash(f.hash)
	if h&s.mask != 0 {
		return
	}
	if len(s.samples) == maxSamples {
		s.thin(s.mask<<1 | 1)
		if h&s.mask != 0 {
			return
		}
	}
	s.samples = append(s.samples, sample{hash: h, time: t, flow: i, icrc: p.ICRC, hasICRC: readableICRC(p), ttl: p.TTL, ce: p.ECN() == ecnCE})
}

// thin keeps only the samples that fit a mask.
func (s *survey) thin(mask uint64) {
	for {
		s.mask = mask
		s.samples = slices.DeleteFunc(s.samples, func(x sample) bool { return x.hash&mask != 0 })
		if len(s.samples) < maxSamples {
			return
		}
		if mask == ^uint64(0) { // one packet, over and over again
			s.samples = s.samples[:0]
			return
		}
		mask = mask<<1 | 1
	}
}

// resolution is that of the time stamps in ns.
func (s *survey) resolution() int64 {
	if s.packets > 0 && s.odd == 0 {
		return 1000
	}
	return 1
}
