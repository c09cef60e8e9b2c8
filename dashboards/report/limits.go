package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rocelens/rocelens/pipeline/record"
)

// spent is what a side's requester did with its time; absent where it was not
// busy, or its answers are not in the capture.
func (e *sessionEncoder) spent(s *record.Spent) {
	if s == nil {
		return
	}
	most, share := s.Most()
	e.object("time_spent")
	e.string("most", most.String())
	e.ratio("share", share)
	e.int("total_ns", s.Total)
	for l := range record.NumLimits {
		e.int(l.String()+"_ns", s.On(l))
	}
	e.end()
}

// limitTexts are what keeps a requester from sending faster, in words.
var limitTexts = [record.NumLimits]string{
	record.LimitSending: "sending", record.LimitApplication: "application", record.LimitWindow: "window", record.LimitCredits: "credits",
	record.LimitRNR: "RNR", record.LimitRecovery: "recovery", record.LimitCNPs: "CNPs", record.LimitPause: "pause",
	record.LimitStalled: "stalled", record.LimitUnclear: "can't tell",
}

// busiest is the account of the side that sent more, of those that have one.
func busiest(s *record.Session) *record.Spent {
	a, b := &s.AToB, &s.BToA
	if b.Spent != nil && (a.Spent == nil || b.PayloadBytes > a.PayloadBytes) {
		return b.Spent
	}
	return a.Spent
}

// limit is "window 83 %".
func limit(s *record.Session) string {
	x := busiest(s)
	if x == nil {
		return ""
	}
	most, part := x.Most()
	return limitTexts[most] + " " + percent(part)
}

// spentText is "83 % window, 12 % application, 5 % sending": what took most
// first, and what took a hundredth at least.
func spentText(x *record.Spent) string {
	all := make([]record.Limit, record.NumLimits)
	for l := range all {
		all[l] = record.Limit(l)
	}
	slices.SortStableFunc(all, func(a, b record.Limit) int { return cmp.Compare(x.On(b), x.On(a)) })
	var parts []string
	for _, l := range all {
		if n := x.On(l); 100*n >= x.Total && n > 0 {
			parts = append(parts, percent(float64(n)/float64(x.Total))+" "+limitTexts[l])
		}
	}
	return strings.Join(parts, ", ")
}
