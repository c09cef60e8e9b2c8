package record

// Spent is what the requester of a busy stream did with its time, in ns, as far
// as a tap can tell: what kept it from sending faster. What is left of Total it
// sent, as fast as it does.
type Spent struct {
	Total int64 // from the beginning of the account to the last packet
	// Application is when it had room to send, and nothing came from the
	// application or the host.
	Application int64
	Window      int64 // it waited for answers, with as much outstanding as ever, or with one message at a time
	Credits     int64 // likewise, and the last ACK had no credits for more
	RNR         int64 // from RNR NAKs to the first packet sent again
	Recovery    int64 // from the first sign of a loss until all was sent again
	Slowed      int64 // it sent, slower after CNPs
	Paused      int64 // flow control kept it waiting
	Stalled     int64 // it stopped in the middle of a message, with room to go on
	// Unclear is what is either the application's or the way between the tap and
	// the requester.
	Unclear int64
}

// Limit is what keeps a requester from sending faster.
type Limit uint8

// The limits.
const (
	LimitSending Limit = iota // its link, its host, or what it shares them with
	LimitApplication
	LimitWindow
	LimitCredits
	LimitRNR
	LimitRecovery
	LimitCNPs
	LimitPause
	LimitStalled
	LimitUnclear
	NumLimits
)

var limitNames = [NumLimits]string{"sending", "application", "window", "credits", "rnr", "recovery", "cnps", "pause", "stalled", "unclear"}

func (l Limit) String() string { return limitNames[l] }

// Sending is the time that is left: it sent.
func (s *Spent) Sending() int64 {
	left := s.Total
	for l := LimitApplication; l < NumLimits; l++ {
		left -= *s.of(l)
	}
	return left
}

func (s *Spent) of(l Limit) *int64 {
	return [NumLimits]*int64{nil, &s.Application, &s.Window, &s.Credits, &s.RNR, &s.Recovery, &s.Slowed, &s.Paused, &s.Stalled, &s.Unclear}[l]
}

// On is the time spent on a limit.
func (s *Spent) On(l Limit) int64 {
	if l == LimitSending {
		return s.Sending()
	}
	return *s.of(l)
}

// Fit cuts what was counted twice, what is surest first: RNR timers, the
// recovery from losses and the time after CNPs have other sources than the
// pauses between packets.
func (s *Spent) Fit() {
	left := s.Total
	for _, v := range []*int64{&s.RNR, &s.Recovery, &s.Paused, &s.Application, &s.Credits, &s.Window, &s.Unclear, &s.Stalled, &s.Slowed} {
		*v = max(min(*v, left), 0)
		left -= *v
	}
}

// Pause says that flow control kept the requester waiting for so long. It was
// counted for something else.
func (s *Spent) Pause(ns int64) {
	for _, v := range []*int64{&s.Stalled, &s.Application, &s.Window, &s.Unclear, &s.Slowed, &s.Recovery} {
		part := min(*v, ns-s.Paused)
		*v -= part
		s.Paused += part
	}
	s.Paused = min(ns, s.Paused+max(s.Sending(), 0))
}

// Most is what it spent most of its time on, and which share of it.
func (s *Spent) Most() (most Limit, share float64) {
	if s.Total <= 0 {
		return LimitUnclear, 0
	}
	for l := range NumLimits {
		if s.On(l) > s.On(most) {
			most = l
		}
	}
	return most, float64(s.On(most)) / float64(s.Total)
}
