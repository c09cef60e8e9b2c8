package correlate

import (
	"cmp"
	"slices"
)

// copyWithin is how long after a packet a copy of it may come for it to be a
// copy and not sent again, in ns, where no IP ID tells.
const copyWithin = 1e6

// arrange puts the samples of a tap in order, finds out between which addresses
// it has packets twice, and leaves one of each of those.
func (p *plan) arrange(t int, mask uint64) {
	s := p.taps[t]
	s.samples = slices.DeleteFunc(s.samples, func(x sample) bool { return x.hash&mask != 0 })
	slices.SortFunc(s.samples, func(a, b sample) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.icrc, b.icrc), cmp.Compare(a.time, b.time))
	})
	copied := func(i int) bool { // it is the second of two
		if i == 0 {
			return false
		}
		a, b := &s.samples[i-1], &s.samples[i]
		return a.hash == b.hash && a.icrc == b.icrc && b.time-a.time <= copyWithin
	}
	type twice struct{ all, copies int }
	pairs := make(map[int32]twice)
	for i := range s.samples {
		pair := p.flows[s.flowOf[s.samples[i].flow]].pair
		n := pairs[pair]
		if copied(i) {
			n.copies++
		} else {
			n.all++
		}
		pairs[pair] = n
	}
	doubled := make(map[int32]bool)
	for pair, n := range pairs {
		// Packets that are sent again are some; copies are there of nearly all.
		if n.all >= fewOdd && n.copies*10 >= n.all*9 {
			doubled[pair], s.doubled = true, true
			for _, f := range p.pairs[pair].flows {
				p.flows[f].doubled |= 1 << t
			}
		}
	}
	if !s.doubled {
		return
	}
	kept := make([]sample, 0, len(s.samples))
	for i, x := range s.samples {
		if !copied(i) || !doubled[p.flows[s.flowOf[x.flow]].pair] {
			kept = append(kept, x)
		}
	}
	s.samples = kept
}

// alike is the run of samples of a hash from i on.
func alike(samples []sample, i int) []sample {
	n := i + 1
	for n < len(samples) && samples[n].hash == samples[i].hash {
		n++
	}
	return samples[i:n]
}

// manyAlike is how many samples with the same headers are compared by their
// ICRCs. A PSN comes again with each 2^24 packets, and when it is sent again;
// more are CNPs, which are all alike.
const manyAlike = 64

// matchSamples finds the packets that are the only ones of their kind at both
// taps: with the same headers, or where those are not unique, with the same
// ICRC too.
func matchSamples(x, y []sample, add func(a, b *sample)) {
	if len(x) == 1 && len(y) == 1 {
		if !x[0].hasICRC || !y[0].hasICRC || x[0].icrc == y[0].icrc {
			add(&x[0], &y[0])
		}
		return
	}
	if len(x) > manyAlike || len(y) > manyAlike {
		return
	}
	for i := range x {
		if !x[i].hasICRC || i > 0 && x[i-1].icrc == x[i].icrc || i+1 < len(x) && x[i+1].icrc == x[i].icrc {
			continue
		}
		var found *sample
		n := 0
		for k := range y {
			if y[k].hasICRC && y[k].icrc == x[i].icrc {
				found = &y[k]
				n++
			}
		}
		if n == 1 {
			add(&x[i], found)
		}
	}
}
