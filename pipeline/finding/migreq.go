package finding

import "github.com/rocelens/rocelens/pipeline/record"

// migReqDiffers says whose two ends do not agree on MigReq.
func migReqDiffers(f *Facts) []record.Finding {
	if !f.alone && f.MigReq == 0 {
		return nil
	}
	var h hits
	var set, clear, left uint64
	for s := range f.someSessions() {
		if s.Service == record.UD || s.AToB.MigReq|s.BToA.MigReq != record.MigReqClear|record.MigReqSet {
			continue
		}
		for _, st := range both(s) {
			n, other := withoutCNPs(st.req), withoutCNPs(st.resp)
			if st.req.MigReq != record.MigReqSet || st.resp.MigReq != record.MigReqClear || n < minDrift || other < minDrift {
				continue
			}
			set, clear = set+n, clear+other
			if len(h) == maxDrifting {
				left++
				continue
			}
			h = append(h, hit{
				stream: st.kept(), n: n, say: plural(n, "packet") + " with it, " + count(other) + " back without", first: s.First, has: true,
				more: record.Evidence{{Key: "packets_set", Value: n}, {Key: "packets_clear", Value: other}},
			})
		}
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	title := host(h[0].from()) + " always sets MigReq in what it sends to " + host(h[0].to()) + ", which never does (" + h[0].say + ")"
	if len(h) > 1 {
		title = "The two ends of " + plural(uint64(len(h))+left, "session") + " differ in MigReq: one always sets it, the other never does"
	}
	return h.finding(record.Info, "migreq-differs", title,
		"The bit belongs to path migration, which RoCE does not use. NICs set it, Soft-RoCE and some FPGAs do not, and receivers should not mind. So it tells that two kinds of implementations talk here, and is not to "+
			"blame for anything else in this report."+h.worst()+" Where the two do not work together at all, it is one of the header fields to compare: `rocelens packets -V` shows them all.",
		record.Evidence{{Key: "packets_set", Value: set}, {Key: "packets_clear", Value: clear}, {Key: "not_listed", Value: left}})
}
