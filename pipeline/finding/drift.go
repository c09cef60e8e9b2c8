package finding

import (
	"iter"
	"strconv"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

const (
	// minDrift is how many packets have to differ: one or two can be late ones of
	// a session before.
	minDrift = 3
	// minClassData is how many packets of data it takes to say which class a
	// session's data is in.
	minClassData = 8
	// maxDrifting bounds the streams that a rule on all sessions keeps. Who has
	// more of them has one cause, and not that many.
	maxDrifting = 1 << 10
)

// data is how many packets of a direction are neither answers without payload
// nor CNPs.
func data(d *record.Direction) uint64 {
	n := withoutCNPs(d)
	return n - min(n, d.Answers()-d.ReadResponses.Packets)
}

func withoutCNPs(d *record.Direction) uint64 {
	n := d.Packets
	for _, c := range d.CNPDSCP {
		n -= min(n, c.Packets)
	}
	return n
}

// classes is how many classes RoCE packets other than CNPs are in.
func (f *Facts) classes() (n int) {
	for tag := range f.Classes {
		for dscp := range f.Classes[tag] {
			if c := &f.Classes[tag][dscp]; c.Packets() > c.CNPs {
				n++
			}
		}
	}
	return n
}

// someSessions are the first sessions that findings are told of, each valid
// until the next.
func (f *Facts) someSessions() iter.Seq[*record.Session] {
	return func(yield func(*record.Session) bool) {
		n := 0
		for s := range f.Sessions.All() {
			if n++; n > maxSurveyed || f.about(s) && !yield(s) {
				return
			}
		}
	}
}

// both are the two streams of a session of which a copy is kept where it is
// needed.
func both(s *record.Session) [2]stream {
	return [2]stream{streamOf(s, 0), streamOf(s, 1)}
}

// kept is the stream with a session of its own, which stays as it is.
func (st *stream) kept() stream {
	s := *st.s
	return both(&s)[st.index]
}

func dscpName(d uint8) string { return "DSCP " + strconv.Itoa(int(d)) }

// dscpDrift says where the packets of one QP are in several classes.
func dscpDrift(f *Facts) []record.Finding {
	if !f.alone && f.classes() < 2 {
		return nil
	}
	var h, info hits
	left := uint64(0)
	for s := range f.someSessions() {
		changed := false
		for _, st := range both(s) {
			n, say, more := changes(st.req)
			if n == 0 {
				continue
			}
			changed = true
			if len(h) == maxDrifting {
				left++
				continue
			}
			h = append(h, hit{stream: st.kept(), n: n, say: say, more: more, first: s.First, has: true})
		}
		if changed || s.Service == record.UD {
			continue
		}
		say, more, serious := differ(s)
		switch {
		case say == "":
		case len(h)+len(info) >= maxDrifting:
			left++
		default:
			st := both(s)[0]
			x := hit{stream: st.kept(), n: withoutCNPs(&s.AToB) + withoutCNPs(&s.BToA), say: say, more: more, first: s.First, has: true}
			if serious {
				h = append(h, x)
			} else {
				info = append(info, x)
			}
		}
	}
	severity := record.Warning
	if len(h) == 0 {
		h, severity = info, record.Info
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	title := h[0].name() + ": " + h[0].say
	if len(h) > 1 {
		title = "The packets of " + plural(uint64(len(h))+left, "QP") + " are in several classes"
	}
	detail := "Switches queue, mark and pause by class, so that packets in different ones overtake one another, and some of them may have no protection from loss."
	if severity == record.Info {
		if len(h) > 1 {
			title = "The answers to " + plural(uint64(len(h))+left, "QP") + " have another DSCP than the data"
		}
		detail = "No data is in that class. Some NICs do so on purpose, and it does no harm as long as answers are not dropped there."
	}
	return h.finding(severity, "dscp-drift", title, detail+h.worst()+
		" See what each end sets (traffic class of the QP, `cma_roce_tos`, trust mode of the port), and which switch on the way rewrites it.",
		record.Evidence{{Key: "not_listed", Value: left}})
}

// changes says whether the packets that one side sent changed their class: more
// of them are in another one than answers could be.
func changes(d *record.Direction) (n uint64, say string, more record.Evidence) {
	main, ok := d.DataDSCP()
	if other, n := d.OtherDSCP(); ok && n >= minDrift && n > d.Answers() {
		return n, "most packets have " + dscpName(main) + ", and " + count(n) + " " + dscpName(other),
			record.Evidence{{Key: "dscp", Value: uint64(main)}, {Key: "other_dscp", Value: uint64(other)}, {Key: "packets", Value: n}}
	}
	p, ok := d.MainPriority()
	if !ok || !p.Tagged {
		return 0, "", nil // no tag may be another place
	}
	var worst record.PriorityCount
	for _, c := range d.Priorities {
		if c.Tagged && c.Priority != p.Priority {
			n += c.Packets
			if c.Packets > worst.Packets {
				worst = c
			}
		}
	}
	for _, c := range d.CNPDSCP {
		n -= min(n, c.Packets)
	}
	if n < minDrift || n <= d.Answers() {
		return 0, "", nil
	}
	return n, "most packets have VLAN priority " + strconv.Itoa(int(p.Priority)) + ", and " + count(n) + " " + strconv.Itoa(int(worst.Priority)),
		record.Evidence{{Key: "priority", Value: uint64(p.Priority)}, {Key: "other_priority", Value: uint64(worst.Priority)}, {Key: "packets", Value: n}}
}

// differ says whether the two directions of a session have no DSCP in common.
// It is serious where both have data.
func differ(s *record.Session) (say string, more record.Evidence, serious bool) {
	a, okA := s.AToB.DataDSCP()
	b, okB := s.BToA.DataDSCP()
	if !okA || !okB || a == b || s.AToB.Packets < minDrift || s.BToA.Packets < minDrift {
		return "", nil, false
	}
	for _, x := range s.AToB.DSCP {
		for _, y := range s.BToA.DSCP {
			if x.DSCP == y.DSCP {
				return "", nil, false
			}
		}
	}
	return dscpName(a) + " there, and " + dscpName(b) + " back",
		record.Evidence{{Key: "dscp", Value: uint64(a)}, {Key: "other_dscp", Value: uint64(b)}, {Key: "packets", Value: withoutCNPs(&s.BToA)}},
		data(&s.AToB) >= minClassData && data(&s.BToA) >= minClassData
}

// minClassCNPs is how many CNPs in the class of the data are worth telling.
const minClassCNPs = 8

// cnpClass says where CNPs wait in the queues that they are to shorten.
func cnpClass(f *Facts) []record.Finding {
	var h hits
	trusted := true
	for st := range f.streams() {
		main, ok := st.req.DataDSCP()
		if !ok || data(st.req) < minClassData {
			continue
		}
		for _, c := range st.resp.CNPDSCP {
			if c.DSCP == main && c.Packets > 0 {
				trusted = trusted && main != 0
				h = append(h, hit{
					stream: st, n: c.Packets, say: plural(c.Packets, "CNP") + ", " + dscpName(main), first: st.s.First, has: true,
					more: record.Evidence{{Key: "cnps", Value: c.Packets}, {Key: "dscp", Value: uint64(main)}},
				})
			}
		}
	}
	n := h.sum()
	if n < minClassCNPs {
		return nil
	}
	h.sort()
	severity, but := record.Warning, ""
	for tag := range f.Classes {
		for dscp := range f.Classes[tag] {
			if tag != pipeline.Untagged && f.Classes[tag][dscp].CNPs > 0 {
				trusted = false
			}
		}
	}
	if !trusted {
		severity, but = record.Info, " Where switches go by VLAN priority, or by nothing at all, the DSCP does not tell."
	}
	who := endpoint(h[0].from())
	if len(h) > 1 {
		who = plural(uint64(len(h)), "sender")
	}
	return h.finding(severity, "cnp-class", plural(n, "CNP")+" to "+who+" "+isAre(n, "has", "have")+" the same DSCP as the data that they are to slow down",
		"A CNP that waits in full queues comes late, and is marked or lost with the data. They are usually in a class of their own with strict priority."+but+h.worst()+
			" Set the DSCP of CNPs at the receivers (with mlx5 `cnp_dscp` and `cnp_802p_prio`), and give that class strict priority in the switches.",
		record.Evidence{{Key: "cnps", Value: n}})
}

// pkeyMatches says whether who has one P_Key takes packets with another: the
// partition is the same, and one of them at least is a full member.
func pkeyMatches(a, b uint16) bool {
	const full = 0x8000
	return a&^full == b&^full && (a|b)&full != 0
}

// mainPKey is the P_Key that most packets of a direction have.
func mainPKey(d *record.Direction) (key uint16, n uint64) {
	if d.PKeys == nil {
		return 0xffff, d.Packets
	}
	for _, k := range d.PKeys {
		if k.Packets > n {
			key, n = k.PKey, k.Packets
		}
	}
	return key, n
}

// pkeyMismatch says where the two ends of a session have different partitions.
func pkeyMismatch(f *Facts) []record.Finding {
	var h hits
	left := uint64(0)
	if !f.alone && f.OddPKeys == 0 {
		return nil
	}
	for s := range f.someSessions() {
		if s.Service == record.UD {
			continue
		}
		var keys [2]uint16
		var packets [2]uint64
		keys[0], packets[0] = mainPKey(&s.AToB)
		keys[1], packets[1] = mainPKey(&s.BToA)
		say, index, got, want := "", 0, uint16(0), uint16(0)
		for i := range keys {
			if s.CM != nil && s.CM.PathMTU != 0 && packets[i] >= minDrift && !pkeyMatches(keys[i], s.CM.PKey) {
				say, index, got, want = hex(uint64(keys[i]), 4)+", and the connection was made for "+hex(uint64(s.CM.PKey), 4), i, keys[i], s.CM.PKey
				break
			}
		}
		if say == "" && packets[0] >= minDrift && packets[1] >= minDrift && !pkeyMatches(keys[0], keys[1]) {
			say, got, want = hex(uint64(keys[0]), 4)+" there, and "+hex(uint64(keys[1]), 4)+" back", keys[0], keys[1]
		}
		switch {
		case say == "":
		case len(h) == maxDrifting:
			left++
		default:
			st := both(s)[index]
			h = append(h, hit{
				stream: st.kept(), n: packets[index], say: say, first: s.First, has: true,
				more: record.Evidence{{Key: "p_key", Value: hex(uint64(got), 4)}, {Key: "other_p_key", Value: hex(uint64(want), 4)}, {Key: "packets", Value: packets[index]}},
			})
		}
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	title := "P_Keys of " + h[0].name() + " don't fit: " + h[0].say
	if len(h) > 1 {
		title = "P_Keys of " + plural(uint64(len(h))+left, "session") + " don't fit"
	}
	return h.finding(record.Warning, "pkey-mismatch", title,
		"A receiver that checks P_Keys drops such packets without a word: the partition, which is the lower 15 bits, has to be the same, and one end at least a full member."+h.worst()+
			" Compare the P_Key tables, and the P_Key index of each QP, at both ends. With RoCE it should be 0xffff.",
		record.Evidence{{Key: "not_listed", Value: left}})
}

// linkLocal says whether it is an address of fe80::/10.
func linkLocal(e *record.Endpoint) bool {
	return (e.Kind == decode.AddrIPv6 || e.Kind == decode.AddrGID) && e.Addr.Hi>>54 == 0xfe80>>6
}

// mapped says whether a GID stands for an IPv4 address.
func mapped(e *record.Endpoint) bool { return e.Addr.Hi == 0 && e.Addr.Lo>>32 == 0xffff }

// unroutable says why packets can't get from one end to the other, "" where
// nothing says so.
func unroutable(s *record.Session) string {
	a, b := &s.A, &s.B
	switch {
	case linkLocal(a) != linkLocal(b):
		local := a
		if linkLocal(b) {
			local = b
		}
		return host(local) + " is link-local, and the other address is not"
	case s.Version == record.V1 && a.Kind == decode.AddrGID && b.Kind == decode.AddrGID && !mapped(a) && !mapped(b) && a.Addr.Hi != b.Addr.Hi:
		return "RoCEv1 does not pass routers, and the GIDs have different prefixes"
	case s.Version == record.V1 && mapped(a) != mapped(b):
		return "RoCEv1 with a GID that stands for an IPv4 address, and one that does not"
	}
	return ""
}

// gidUnroutable says which QPs are not answered, and have addresses between
// which no router passes anything on.
func gidUnroutable(f *Facts) []record.Finding {
	if f.sampling.most {
		return nil
	}
	asked := make(map[string]bool)
	for i := range f.Signs {
		if d, ok := f.Signs[i].Detail.(record.Connect); ok && !d.Answered {
			asked[f.Signs[i].Session] = true
		}
	}
	var h hits
	for _, s := range f.notable {
		if s.OneSided || !asked[s.ID] && s.State != record.StateUnanswered && (s.State != record.StateFailed || s.Failure != record.FailedRetries) {
			continue
		}
		why := unroutable(s)
		if why == "" {
			continue
		}
		h = append(h, hit{
			stream: both(s)[0], n: s.AToB.Packets + s.BToA.Packets, say: why, first: s.First, has: true,
			more: record.Evidence{{Key: "why", Value: why}, {Key: "version", Value: s.Version.String()}},
		})
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	title := host(h[0].from()) + " has no answer from " + host(h[0].to()) + ": " + h[0].say
	if len(h) > 1 {
		title = plural(uint64(len(h)), "QP") + " without an answer " + isAre(uint64(len(h)), "has", "have") + " addresses that no router connects"
	}
	return h.finding(record.Warning, "gid-unroutable", title,
		"RoCEv1 and link-local addresses reach the same subnet only."+h.worst()+
			" Choose a GID index with RoCEv2 and a routable address at both ends (`show_gids`, or `/sys/class/infiniband/*/ports/*/gid_attrs/types`).",
		record.Evidence{{Key: "qps", Value: uint64(len(h))}})
}

const (
	// shortOutage is how long a path may be gone before anything has gone wrong: 50
	// ms is what protection switching may take (ITU-T G.8031).
	shortOutage = int64(50_000_000)
	// longTimeout is how long a single lost packet should not stop a QP. 4.3 s,
	// which NCCL uses, is below it.
	longTimeout = int64(8_000_000_000)
)

// cmTimeouts says which connections were made with timeouts or retries that
// can't work.
func cmTimeouts(f *Facts) []record.Finding {
	var h hits
	severity := record.Info
	for _, s := range f.notable {
		c := s.CM
		if c == nil || c.PathMTU == 0 || c.Service != record.RC && c.Service != record.XRC {
			continue
		}
		say, bad := "", true
		total := c.AckTimeout * int64(c.RetryCount+1)
		switch {
		case c.NoAckTimer:
			say = "the ACK timeout is 0, which is no timer: when the last packets are lost, nobody sends them again"
		case s.BToA.RNRNaks > 0 && c.Replied != 0 && c.RNRRetry[0] == 0, s.AToB.RNRNaks > 0 && c.RNRRetry[1] == 0:
			say = "RNR NAKs come, and the RNR retry count is 0: the first one ends the connection"
		case c.RetryCount == 0 && s.Version != record.IB: // IPoIB does so on purpose
			say = "the retry count is 0: the first timeout ends the connection"
		case c.AckTimeout > 0 && total < shortOutage:
			say, bad = "the requester may give up after "+duration(total)+" without an answer", false
		case c.AckTimeout >= longTimeout:
			say, bad = "a single packet lost can stop it for "+duration(c.AckTimeout)+" and longer", false
		}
		if say == "" {
			continue
		}
		if bad {
			severity = record.Warning
		}
		n := uint64(1)
		if bad {
			n = 2 // these come first
		}
		h = append(h, hit{
			stream: both(s)[0], n: n, say: say, first: s.First, has: true,
			more: record.Evidence{
				{Key: "ack_timeout_ns", Value: c.AckTimeout}, {Key: "retry_count", Value: uint64(c.RetryCount)},
				{Key: "rnr_retry", Value: uint64(min(c.RNRRetry[0], c.RNRRetry[1]))}, {Key: "why", Value: say},
			},
		})
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	title := h[0].name() + ": " + h[0].say
	if len(h) > 1 {
		title = plural(uint64(len(h)), "connection") + " made with timeouts or retry counts that don't work well"
	}
	return h.finding(severity, "cm-timeouts", title,
		"This is what the connection manager's REQ and REP agreed on. An ACK timeout of n is 4.096 µs x 2^n, and the requester tries so long, once and as often again as the retry count says; hardware may wait up to "+
			"four times as long each time."+h.worst()+" Look for the values in the application, or in rdma_cm's options (`RDMA_OPTION_ID_ACK_TIMEOUT`).",
		record.Evidence{{Key: "connections", Value: uint64(len(h))}})
}
