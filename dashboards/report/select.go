package report

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/rocelens/rocelens/pipeline/record"
)

// maxLives bounds the sessions of one QP that are told together, maxCandidates
// those that an error lists.
const (
	maxLives      = 8
	maxCandidates = 20
)

// Select finds the sessions of one QP: those that have the QPN at the end with
// that address, or at either end where addr is "". An address that is the
// other end's will do as well. A QP has several sessions where it lived
// several lives, or, as a UD QP, several peers. The error lists the candidates
// where it is not clear which QP is meant, and the nearest where there is none.
func Select(sessions record.Sessions, qpn uint32, addr string) ([]*record.Session, error) {
	var byEnd, byPeer []*record.Session
	want := sameAddr(addr)
	for i, s := range sessions.Figures() {
		a, b := s.A.HasQPN && s.A.QPN == qpn, s.B.HasQPN && s.B.QPN == qpn
		switch {
		case a && want(&s.A), b && want(&s.B):
			byEnd = append(byEnd, sessions.At(i))
		case a && want(&s.B), b && want(&s.A):
			byPeer = append(byPeer, sessions.At(i))
		}
	}
	found := byEnd
	if len(found) == 0 {
		found = byPeer
	}
	where := ""
	if addr != "" {
		where = " at " + addr
	}
	switch {
	case len(found) == 0:
		return nil, fmt.Errorf("no session has QP %#x%s; there are:\n%s", qpn, where, candidates(nearest(sessions, qpn, addr)))
	case !oneQP(found, qpn) || len(found) > maxLives:
		how := "say which one is meant with --addr, the address of either end"
		if addr != "" {
			how = "name the other end's QP or address instead"
		}
		return nil, fmt.Errorf("%d sessions have QP %#x%s: %s:\n%s", len(found), qpn, where, how, candidates(found, len(found)))
	}
	return found, nil
}

// sameAddr compares with an address as people write it; "" is any.
func sameAddr(addr string) func(*record.Endpoint) bool {
	ip, err := netip.ParseAddr(addr)
	return func(e *record.Endpoint) bool {
		if addr == "" || hostName(e) == addr {
			return true
		}
		return err == nil && hostName(e) == ip.Unmap().WithZone("").String()
	}
}

// oneQP says whether the sessions have one end in common, with that QPN.
func oneQP(found []*record.Session, qpn uint32) bool {
	for _, e := range []*record.Endpoint{&found[0].A, &found[0].B} {
		if !e.HasQPN || e.QPN != qpn {
			continue
		}
		if !slices.ContainsFunc(found, func(s *record.Session) bool {
			return *e != s.A && *e != s.B || s.HasVNI != found[0].HasVNI || s.VNI != found[0].VNI
		}) {
			return true
		}
	}
	return false
}

// nearest are the sessions whose QPNs are nearest to one that is not there, at
// the address if there are any: the first maxCandidates, and how many there
// are.
func nearest(sessions record.Sessions, qpn uint32, addr string) (all []*record.Session, n int) {
	want := sameAddr(addr)
	distance := func(s *record.Session) int64 {
		d := int64(1) << 32
		for _, e := range []*record.Endpoint{&s.A, &s.B} {
			if e.HasQPN {
				d = min(d, max(int64(e.QPN)-int64(qpn), int64(qpn)-int64(e.QPN)))
			}
		}
		return d
	}
	keep := func() {
		slices.SortStableFunc(all, func(a, b *record.Session) int { return cmp.Compare(distance(a), distance(b)) })
		all = all[:min(len(all), maxCandidates)]
	}
	for _, only := range []bool{true, false} {
		for i := range sessions.Len() {
			s := sessions.At(i)
			if only && !want(&s.A) && !want(&s.B) {
				continue
			}
			n++
			if all = append(all, s); len(all) >= 64*maxCandidates {
				keep()
			}
		}
		if n > 0 {
			break
		}
	}
	keep()
	return all, n
}

// candidates lists the first of n sessions, one a line.
func candidates(all []*record.Session, n int) string {
	var lines []string
	for _, s := range all[:min(len(all), maxCandidates)] {
		lines = append(lines, "  "+ends(s)+", "+traits(s)+", "+plural(s.AToB.Packets+s.BToA.Packets, "packet"))
	}
	if n -= maxCandidates; n > 0 {
		lines = append(lines, "  and "+count(uint64(n))+" more")
	}
	if len(all) == 0 {
		lines = append(lines, "  none at all")
	}
	return strings.ReplaceAll(strings.Join(lines, "\n"), glue, " ")
}
