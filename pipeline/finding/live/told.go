package live

import (
	"fmt"

	"github.com/rocelens/rocelens/pipeline/record"
)

// key is what a finding is about: what all sessions say together of one kind, or
// who storms.
type key struct {
	code  string
	input int32
	iface int32
	mac   [6]byte
	pfc   bool
}

func keyOfStorm(code string, s *record.Storm) key {
	return key{code, s.Input, s.Interface, s.MAC, s.PFC}
}

func priorities(s *record.Storm) (names []string) {
	for _, p := range s.Priorities {
		names = append(names, fmt.Sprint("priority ", p.Priority))
	}
	return names
}

// about is what was told of something.
type about struct {
	severity record.Severity
	of       map[string]bool // sessions, or priorities
	last     int64           // when it was found
}

// maxAbout is of how many sessions it is known that a finding was told of them: more
// change nothing.
const maxAbout = 1 << 12

// news says whether a finding is to be told: it is new, or graver than before, or of
// at least as many others as it was told of.
func (f *Finder) news(k key, x *record.Finding, of []string, now int64) bool {
	a := f.told[k]
	if a == nil || now-a.last >= int64(f.cfg.Gone) {
		a = &about{of: make(map[string]bool)}
		f.told[k] = a
	}
	a.last = max(a.last, now)
	others := 0
	for _, id := range of {
		if !a.of[id] {
			others++
		}
	}
	if x.Severity <= a.severity && (others == 0 || others < len(a.of) || len(a.of) >= maxAbout) {
		return false
	}
	a.severity = max(a.severity, x.Severity)
	for _, id := range of {
		if len(a.of) < maxAbout {
			a.of[id] = true
		}
	}
	return true
}

// forget forgets what has not been found for long.
func (f *Finder) forget(now int64) {
	for k, a := range f.told {
		if now-a.last >= int64(f.cfg.Gone) {
			delete(f.told, k)
		}
	}
}
