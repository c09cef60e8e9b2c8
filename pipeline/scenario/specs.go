package scenario

import (
	"math/rand/v2"
	"time"
)

const (
	us = time.Microsecond
	ms = time.Millisecond
)

// kib is a message of so many packets of 1,024 bytes.
const kib = 1024

// numbers draws the QPNs and starting PSNs of a spec.
func numbers(o Options) *rand.Rand { return rand.New(rand.NewPCG(o.Seed, 0x0c0ffee)) }

// sides are two ends with numbers of their own.
func sides(r *rand.Rand) (a, b Side) {
	qpn := 0x100 + r.Uint32N(0x8000)
	a = Side{Host: 0, QPN: qpn, StartPSN: r.Uint32() & psnMask}
	b = Side{Host: 1, QPN: qpn + 1 + r.Uint32N(0x4000), StartPSN: r.Uint32() & psnMask}
	return a, b
}

// spec is one session in which a does some work.
func specOf(o Options, work Work, faults ...Fault) *Spec {
	a, b := sides(numbers(o))
	return &Spec{Sessions: []Session{{A: a, B: b, Work: [2]Work{work}}}, Faults: faults}
}

// first is the session that a spec begins with.
func (s *Spec) first() *Session { return &s.Sessions[0] }

// times repeats messages.
func times(n int, m ...Message) []Message {
	var list []Message
	for range n {
		list = append(list, m...)
	}
	return list
}

// writes is the work that most scenarios do: 40 WRITEs of 8 packets.
func writes() Work { return Work{Messages: times(40, Message{Write, 8 * kib}), Every: 2 * us} }

// at makes a fault that hits the first sending of one request.
func at(action Action, where Where, index int) Fault {
	return Fault{Action: action, Where: where, Index: index}
}

// spread makes faults that hit the first sending of several requests.
func spread(action Action, where Where, indices ...int) []Fault {
	var list []Fault
	for _, i := range indices {
		list = append(list, at(action, where, i))
	}
	return list
}

// again makes a fault hit another sending than the first.
func (f Fault) again(nth int) Fault {
	f.Transmission = nth
	return f
}

// of makes a fault be about something else than requests.
func (f Fault) of(what Subject) Fault {
	f.Subject = what
	return f
}

// with changes a spec.
func with(s *Spec, change func(*Spec)) *Spec {
	change(s)
	return s
}

// orElse is a number that can be set.
func orElse(v, otherwise int) int {
	if v == 0 {
		return otherwise
	}
	return v
}
