package scenario

import "time"

func refusalScenarios() []Scenario {
	rnr := func(o Options) *Spec {
		return with(specOf(o, Work{Messages: times(40, Message{Send, 3 * kib}), Every: 2 * us}), func(s *Spec) {
			s.first().Responder.Refuse = []Refusal{{Message: 10, Times: 1, Timer: 12}, {Message: 25, Times: 3, Timer: 5}}
		})
	}
	silent := Fault{Action: Drop, Where: AfterTap, Session: All, Stream: All, Subject: Everything, Index: All, Transmission: All, From: 30 * us}
	return []Scenario{
		{Name: "rnr", About: "SENDs that find no receive buffer: RNR NAKs", spec: rnr},
		{Name: "rnr_softroce", About: "RNR NAKs each followed by a NAK 0x60 for the same PSN, as Soft-RoCE sends them, without any loss", spec: func(o Options) *Spec {
			return with(rnr(o), func(s *Spec) { s.first().Responder.NAKAfterRNR = true })
		}},
		{Name: "rnr_with_loss", About: "RNR NAKs, and losses ahead of the tap and behind it between them", spec: func(o Options) *Spec {
			return with(rnr(o), func(s *Spec) { s.Faults = append(spread(Drop, BeforeTap, 50), spread(Drop, AfterTap, 100)...) })
		}},
		{Name: "rnr_exceeded", About: "RNR NAKs until the requester gives up", spec: func(o Options) *Spec {
			return with(rnr(o), func(s *Spec) {
				s.first().Responder.Refuse = []Refusal{{Message: 10, Times: 100, Timer: 14}}
				s.first().Requester.RNRRetry = 3
			})
		}},
		{Name: "retry_exceeded", About: "the responder's host falls silent: seven retries, then nothing", spec: func(o Options) *Spec {
			return specOf(o, writes(), silent)
		}},
		{Name: "retry_exceeded_before", About: "nothing gets to the tap any more: the capture just ends for this session", spec: func(o Options) *Spec {
			f := silent
			f.Where = BeforeTap
			return specOf(o, writes(), f)
		}},
		{Name: "retry_exceeded_answers", About: "requests arrive, and no answer gets back to the tap: seven retries, then nothing", spec: func(o Options) *Spec {
			f := silent
			f.Where, f.Subject = BeforeTap, Answers
			return specOf(o, writes(), f)
		}},
		{Name: "retry_exhausted", About: "the responder of one session falls silent: seven retries, then nothing, while another session goes on", spec: exhausted(writes(), 30*us)},
		{Name: "retry_exhausted_read", About: "likewise, in the middle of a READ", spec: exhausted(reads(), 10*us)},
		{Name: "retry_exhausted_closed", About: "likewise, and connection management closes what is left", spec: func(o Options) *Spec {
			return with(exhausted(writes(), 100*us)(o), func(s *Spec) { s.first().CM, s.first().Close = Connect, true })
		}},
		{Name: "retry_exhausted_cut", About: "likewise, and the capture ends before anybody can tell that no retry follows", spec: func(o Options) *Spec {
			return with(exhausted(writes(), 30*us)(o), func(s *Spec) { s.Tap.To = 145 * ms })
		}},
		{Name: "rnr_exhausted", About: "RNR NAKs until the requester gives up, while another session goes on", spec: func(o Options) *Spec {
			return with(exhausted(Work{Messages: times(40, Message{Send, 3 * kib}), Every: 2 * us}, 0)(o), func(s *Spec) {
				s.Faults = nil
				s.first().Responder.Refuse = []Refusal{{Message: 10, Times: 100, Timer: 14}}
				s.first().Requester.RNRRetry = 3
			})
		}},
		{Name: "remote_access_error", About: "a WRITE with a bad key: NAK 0x62, and the end", spec: rejection(0x62)},
		{Name: "invalid_request", About: "a request that the responder calls invalid: NAK 0x61, and the end", spec: rejection(0x61)},
		{Name: "operational_error", About: "a SEND longer than its receive: NAK 0x63, and the end", spec: rejection(0x63)},
		{Name: "cm_refused", About: "REQ is answered by REJ", spec: connection(Refused)},
		{Name: "cm_unanswered", About: "REQ is sent five times and never answered", spec: connection(Unanswered)},
		{Name: "cm_retry", About: "REP is lost once, so that REQ comes twice: one connection", spec: func(o Options) *Spec {
			return with(connection(Connect)(o), func(s *Spec) {
				s.Faults = []Fault{{Action: Drop, Where: BeforeTap, Session: All, Stream: All, Subject: MADs, Index: 2, Transmission: All}}
			})
		}},
	}
}

// exhausted is a session in which the responder falls silent after a while, and
// another one that goes on for as long as it takes to see that the requester
// gave up.
func exhausted(work Work, from time.Duration) func(Options) *Spec {
	return func(o Options) *Spec {
		return with(specOf(o, work, Fault{
			Action: Drop, Where: AfterTap, Stream: All, Subject: AnyData, Index: All, Transmission: All, From: from,
		}), func(s *Spec) {
			other := *s.first()
			other.A.QPN, other.B.QPN = other.A.QPN+1, other.B.QPN+1
			other.A.StartPSN += 0x300000
			other.Work[0] = Work{Messages: times(60, Message{Send, 500}), Every: 5 * ms}
			s.Sessions = append(s.Sessions, other)
		})
	}
}

func rejection(code uint8) func(Options) *Spec {
	return func(o Options) *Spec {
		return with(specOf(o, Work{Messages: times(20, Message{Write, 2 * kib}, Message{Send, 500}), Every: 2 * us}), func(s *Spec) {
			m := 12
			if code == 0x63 {
				m = 13 // a SEND
			}
			s.first().Responder.Reject = []Rejection{{Message: m, Code: code}}
		})
	}
}

func connection(how CM) func(Options) *Spec {
	return func(o Options) *Spec {
		return with(specOf(o, writes()), func(s *Spec) { s.first().CM, s.first().Close = how, true })
	}
}
