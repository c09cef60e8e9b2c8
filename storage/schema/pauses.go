package schema

import (
	"strconv"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

type pause = record.PauseInterval

// PauseIntervals is the table pause_intervals.
func PauseIntervals() *Rows[pause] {
	return rows(Table{
		Name: "pause_intervals",
		Doc: "The time from a frame of flow control that stops a priority until it may go on. A frame that comes while it is stopped " +
			"replaces the time of the one before, and adds none to it.",
		Questions: []string{"storms by port", "how long a priority of a port stood still"},
		Engine:    "MergeTree",
		Partition: "toMonday(time)",
		Order:     []string{"toStartOfHour(time)", "tap", "interface", "src_mac", "priority", "time"},
		Keep:      KeepRecords,
		Shard:     "cityHash64(probe, tap, interface)",
	}, []field[pause]{
		placed("tap", docTap, func(o *Origin, r *pause) string { return o.tap(r.Input) }),
		when("time", "When it begins", func(r *pause) int64 { return r.Start.Time }),
		placed("interface", "Where", func(o *Origin, r *pause) string { return o.pauser(&r.Pauser) }),
		word("src_mac", "Who told the other end of the link to stop", func(r *pause) decode.MAC { return r.MAC }, sayMAC),
		named("type", "pfc, or 802.3x, which stops all traffic", func(r *pause) string { return pauseType(r.PFC) }),
		u8("priority", codecZSTD, "Which priority, 0 with 802.3x", func(r *pause) uint8 { return r.Priority }),
		i64("paused_ns", codecZSTD, "For how long", func(r *pause) int64 { return r.Paused }),
		u64("frames", codecZSTD, "Frames that stop it, the first one included", func(r *pause) uint64 { return r.Frames }),
		u64("quanta", codecZSTD, "The times in them, summed up, in units of 512 bit times", func(r *pause) uint64 { return r.Quanta }),
		stringed("end", "What ended it: xon, expired or capture_end", func(r *pause) record.PauseEnd { return r.End }),
		boolean("storm", "It is part of a storm", func(r *pause) bool { return r.Storm }),
		u64("frame", codecZSTD, "Number of the first frame in its input, from 1", func(r *pause) uint64 { return r.Start.Number }),
	})
}

func pauseType(pfc bool) string {
	if pfc {
		return "pfc"
	}
	return "802.3x"
}

// pauser is the interface of a sender of pauses: its name, or its number.
func (o *Origin) pauser(p *record.Pauser) string {
	if p.Name != "" {
		return p.Name
	}
	if name := o.iface(p.Input, p.Interface); name != "" {
		return name
	}
	return strconv.Itoa(int(p.Interface))
}
