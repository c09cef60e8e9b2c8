package finding

import (
	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// inputDamaged says that an input could not be read to its end.
func inputDamaged(f *Facts) []record.Finding {
	list := []record.Evidence{}
	var say []string
	var read uint64
	none, whole := true, true // of them is a capture; all are, to their end
	for i := range f.Inputs {
		in := &f.Inputs[i]
		if in.Damage == nil {
			continue
		}
		say = append(say, in.Damage.Error())
		read += in.Frames
		none = none && in.Damage.NotCapture
		whole = whole && in.Damage.Whole
		if len(list) < maxListed {
			list = append(list, record.Evidence{
				{Key: "path", Value: in.Path}, {Key: "offset", Value: in.Damage.Offset}, {Key: "reason", Value: in.Damage.Reason}, {Key: "packets", Value: in.Frames},
			})
		}
	}
	if len(say) == 0 {
		return nil
	}
	title := say[0]
	detail := "Nothing in it could be read."
	if read > 0 {
		detail = "This report covers the " + plural(read, "packet") + " before that; what came after is missing."
	}
	cover := " before the damage; what came after is missing."
	if whole {
		cover = " of the compressed data, which is whole."
		detail = "This report covers the " + plural(read, "packet") + cover
	}
	if len(say) > 1 {
		title = count(uint64(len(say))) + " of " + plural(uint64(len(f.Inputs)), "input") + " can't be read to their end"
		detail = listed(say) + ". This report covers the " + plural(read, "packet") + cover
		if whole {
			title = count(uint64(len(say))) + " of " + plural(uint64(len(f.Inputs)), "input") + " are followed by what is none of them"
		}
	}
	if whole {
		detail += " Check how the file was copied or put together: if what follows should be a capture too, it is damaged where it begins."
	} else {
		detail += " Check whether the capture is still being written, and how it was copied: a capturing program that is killed, or a full " +
			"disk, ends a file in the middle of a record."
	}
	if none {
		detail = "Nothing in it could be read. Check what it is: rocelens reads pcap, pcapng and ERF, also compressed by gzip or zstd."
	}
	return one(record.Finding{
		Severity: record.Warning, Code: "input-damaged", Title: title, Detail: detail,
		Evidence: record.Evidence{{Key: "inputs", Value: list}, {Key: "damaged", Value: uint64(len(say))}},
	})
}

// captureDrops says that the capture itself lost packets.
func captureDrops(f *Facts) []record.Finding {
	list := []record.Evidence{}
	var say []string
	var drops uint64
	for i := range f.Inputs {
		in := &f.Inputs[i]
		if in.Drops == nil || *in.Drops == 0 {
			continue
		}
		drops += *in.Drops
		say = append(say, capture.PathText(in.Path)+" ("+count(*in.Drops)+")")
		if len(list) < maxListed {
			list = append(list, record.Evidence{{Key: "path", Value: in.Path}, {Key: "drops", Value: *in.Drops}, {Key: "packets", Value: in.Frames}})
		}
	}
	if drops == 0 {
		return nil
	}
	return one(record.Finding{
		Severity: record.Warning, Code: "capture-drops",
		Title: "The capture itself lost " + plural(drops, "packet") + ": what is missing here need not have been lost by the network",
		Detail: "As recorded in " + listed(say) + "." + f.felt(drops) + " Give the capturing program a larger buffer or a faster disk, or keep less of " +
			"each packet: 128 bytes are enough for everything but the ICRC.",
		Evidence: record.Evidence{{Key: "drops", Value: drops}, {Key: "inputs", Value: list}, {Key: "missing_in_sessions", Value: f.captureLost()}},
	})
}

func malformed(f *Facts) []record.Finding {
	if f.Malformed == 0 {
		return nil
	}
	return one(record.Finding{
		Severity: record.Warning, Code: "malformed",
		Title: plural(f.Malformed, "packet") + " malformed: headers contradict one another or the packet's length",
		Detail: "They are decoded as far as they make sense. Look at the first with " + showFrame(f, f.FirstMalformed) + ": corruption on the way, a tunnel " +
			"that rocelens takes for another, and captures of segments before the NIC cuts them look like this.",
		Evidence: record.Evidence{{Key: "packets", Value: f.Malformed}, {Key: "share", Value: share(f.Malformed, f.Packets)}, {Key: "first", Value: f.FirstMalformed}},
	})
}

// truncated says that the capture kept less than there was.
func truncated(f *Facts) []record.Finding {
	n := f.Flag(decode.Snapped)
	if n == 0 {
		return nil
	}
	return one(record.Finding{
		Severity: record.Info, Code: "truncated",
		Title: plural(n, "packet") + " cut short by the capture's snap length (" + percent(n, f.Packets) + ")",
		Detail: "Sizes come from the headers and are right all the same" + unchecked(f) + ". Capture whole packets (tcpdump -s 0) where corruption " +
			"has to be excluded.",
		Evidence: cutEvidence(f, n),
	})
}

// enoughBytes is a snap length that leaves no header of RoCE out, tunnels aside.
const enoughBytes = "128"

// headersCut says which sessions are not followed because frames end within a header.
func headersCut(f *Facts) []record.Finding {
	var h hits
	for st := range f.streams() {
		if n := st.req.HeadersCut; n > 0 {
			h.add(st, n, plural(n, "packet"), record.Evidence{{Key: "packets", Value: n}})
		}
	}
	if len(h) == 0 {
		return nil
	}
	h.sort()
	_, sessions := h.sessions()
	n := h.sum()
	return h.finding(record.Warning, "headers-cut",
		plural(sessions, "session")+" can't be followed: "+plural(n, "packet")+isAre(n, " ends", " end")+" within a header ("+h.between()+")",
		"Too few bytes were kept of them to tell how long READs are (RETH), whether an answer is a NAK (AETH), or who sends a datagram (DETH). Packets and bytes of these "+
			"sessions are counted; of losses, retransmissions and latencies nothing is said where that rests on it."+h.worst()+" Capture at least "+enoughBytes+
			" bytes of each packet (tcpdump -s "+enoughBytes+"), and more inside of tunnels.",
		record.Evidence{{Key: "packets", Value: n}})
}

// truncatedByMirror says that packets came to the capture cut.
func truncatedByMirror(f *Facts) []record.Finding {
	n := f.Flag(decode.MirrorCut)
	if n == 0 {
		return nil
	}
	return one(record.Finding{
		Severity: record.Info, Code: "truncated-by-mirror",
		Title: plural(n, "packet") + " cut short before they were captured, by the mirror (" + percent(n, f.Packets) + ")",
		Detail: "A length inside them says more than is there. Sizes come from the headers and are right all the same" + unchecked(f) +
			". Where whole packets are needed, switch truncation off at the mirror, and give the way to the collector an MTU that has room for the " +
			"tunnel's headers.",
		Evidence: cutEvidence(f, n),
	})
}

func unchecked(f *Facts) string {
	if n := f.ICRC.Reasons[decode.ICRCReasonTruncated]; n > 0 {
		return ", but the ICRC of " + plural(n, "cut packet") + " can't be checked"
	}
	return ""
}

func cutEvidence(f *Facts, n uint64) record.Evidence {
	return record.Evidence{
		{Key: "packets", Value: n}, {Key: "share", Value: share(n, f.Packets)}, {Key: "icrc_unverifiable", Value: f.ICRC.Reasons[decode.ICRCReasonTruncated]},
	}
}
