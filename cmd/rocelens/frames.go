package main

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/capture"
)

// frameRange is the frames from..to of one input, both included.
type frameRange struct {
	input    int32 // index, -1 where none was named
	from, to uint64
}

const noEnd = ^uint64(0)

// frameSet is a value of --frames. The zero value holds every frame.
type frameSet struct {
	text   string
	ranges []frameRange // after bind sorted, without overlaps
}

// parseFrames reads "10-20,35" or, with inputs counted from 1, "2:10-20,2:35".
// "100-" goes on to the end.
func parseFrames(s string) (frameSet, error) {
	set := frameSet{text: s}
	if s == "" {
		return set, nil
	}
	for _, part := range strings.Split(s, ",") {
		r, ok := parseFrameRange(strings.TrimSpace(part))
		if !ok {
			return set, fmt.Errorf("--frames: %q is not a range of frames: write 10-20, 35 or 100-, "+
				"with several inputs 2:10-20 for the second", part)
		}
		set.ranges = append(set.ranges, r)
	}
	return set, nil
}

func parseFrameRange(s string) (r frameRange, ok bool) {
	r.input = -1
	if input, rest, found := strings.Cut(s, ":"); found {
		n, err := strconv.ParseUint(input, 10, 31)
		if err != nil || n == 0 {
			return r, false
		}
		r.input, s = int32(n-1), rest
	}
	from, to, isRange := strings.Cut(s, "-")
	n, err := strconv.ParseUint(from, 10, 64)
	if err != nil || n == 0 {
		return r, false
	}
	r.from, r.to = n, n
	if isRange {
		if r.to = noEnd; to != "" {
			if r.to, err = strconv.ParseUint(to, 10, 64); err != nil {
				return r, false
			}
		}
	}
	return r, r.from <= r.to
}

// bind checks the set against the number of inputs and makes it ready for use.
func (s *frameSet) bind(inputs int) error {
	for i := range s.ranges {
		r := &s.ranges[i]
		switch {
		case r.input < 0 && inputs > 1:
			return fmt.Errorf("--frames %s: there are %d inputs and each numbers its frames from 1: write INPUT:FRAMES, as in 1:%s",
				s.text, inputs, s.text)
		case r.input < 0:
			r.input = 0
		case int(r.input) >= inputs:
			return fmt.Errorf("--frames %s: there is no input %d, only %d", s.text, r.input+1, inputs)
		}
	}
	slices.SortFunc(s.ranges, func(a, b frameRange) int {
		return cmp.Or(cmp.Compare(a.input, b.input), cmp.Compare(a.from, b.from))
	})
	merged := s.ranges[:0]
	for _, r := range s.ranges {
		if n := len(merged); n > 0 && merged[n-1].input == r.input && r.from <= merged[n-1].to {
			merged[n-1].to = max(merged[n-1].to, r.to)
			continue
		}
		merged = append(merged, r)
	}
	s.ranges = merged
	return nil
}

// has says whether a frame is in the set.
func (s *frameSet) has(f *capture.Frame) bool {
	if s.text == "" {
		return true
	}
	// The first range that ends at the frame or after it.
	i := sort.Search(len(s.ranges), func(i int) bool {
		r := &s.ranges[i]
		return r.input > f.Input || r.input == f.Input && r.to >= f.Number
	})
	return i < len(s.ranges) && s.ranges[i].input == f.Input && s.ranges[i].from <= f.Number
}

// past says whether no frame from f on can be in the set: only with one input,
// whose frames come in the order of their numbers.
func (s *frameSet) past(f *capture.Frame, inputs int) bool {
	return s.text != "" && inputs == 1 && f.Number > s.ranges[len(s.ranges)-1].to
}
