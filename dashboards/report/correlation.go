package report

import (
	"io"
	"strconv"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/correlate"
	"github.com/rocelens/rocelens/pipeline/record"
)

// Correlation is what became of packets between taps, for `rocelens
// correlate`. Its JSON form is a contract like that of Report.
type Correlation struct {
	Tool     Tool
	Partial  bool
	Names    []string // of the taps
	Result   *correlate.Result
	Findings []Finding
}

// NewCorrelation makes one of a result.
func NewCorrelation(names []string, r *correlate.Result, findings []record.Finding, version string) *Correlation {
	return &Correlation{Tool: Tool{Name: "rocelens", Version: version}, Names: names, Result: r, Findings: newFindings(findings)}
}

// TapNames are names of taps as they may be shown, in findings too.
func TapNames(names []string) []string {
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = capture.PathText(name)
	}
	return shown
}

type tapJSON struct {
	Name       string  `json:"name"`
	Inputs     []Input `json:"inputs"`
	Packets    uint64  `json:"packets"`
	RoCE       uint64  `json:"roce_packets"`
	First      *int64  `json:"first"`
	Last       *int64  `json:"last"`
	Aligned    bool    `json:"aligned"`
	Resolution int64   `json:"time_resolution_ns"`
	Drops      *uint64 `json:"reported_drops"`
	Doubled    bool    `json:"doubled"`
	Duplicates uint64  `json:"duplicates"`
	Missed     uint64  `json:"missed"`
	Answered   uint64  `json:"missed_answered"`
	Alone      struct {
		Flows   int    `json:"flows"`
		Packets uint64 `json:"packets"`
	} `json:"alone"`
	LeftOut uint64 `json:"packets_left_out"`
}

type clockJSON struct {
	A                int         `json:"a"`
	B                int         `json:"b"`
	Method           string      `json:"method"`
	Offset           int64       `json:"offset_ns"`
	At               int64       `json:"at"`
	Uncertainty      *int64      `json:"uncertainty_ns"`
	Drift            float64     `json:"drift_ppm"`
	DriftUncertainty *float64    `json:"drift_uncertainty_ppm"`
	RoundTrip        *int64      `json:"round_trip_ns"`
	Samples          samplesJSON `json:"samples"`
	Contradicted     int64       `json:"contradicted_ns,omitempty"`
}

type samplesJSON struct {
	AFirst  uint64 `json:"a_first"`
	BFirst  uint64 `json:"b_first"`
	Unknown uint64 `json:"unknown"`
}

type pathJSON struct {
	Taps      []int  `json:"taps"`
	Order     string `json:"order_by"`
	Sure      bool   `json:"order_sure"`
	Pairs     int    `json:"address_pairs"`
	Flows     int    `json:"flows"`
	Conflicts int    `json:"conflicts"`
}

type countsJSON struct {
	Packets    uint64      `json:"packets"`
	Matched    uint64      `json:"matched"`
	Lost       lostJSON    `json:"lost"`
	Answered   uint64      `json:"missed_answered"`
	Appeared   uint64      `json:"only_downstream"`
	Outside    uint64      `json:"outside"`
	Duplicated uint64      `json:"duplicated"`
	Reordered  uint64      `json:"reordered"`
	Marked     uint64      `json:"ce_added"`
	Unmarked   uint64      `json:"ce_removed"`
	DSCP       *changeJSON `json:"dscp_changed,omitempty"`
	Priority   *changeJSON `json:"priority_changed,omitempty"`
	Corrupted  uint64      `json:"corrupted"`
	CorruptUp  uint64      `json:"corrupt_at_both"`
	TTL        ttlJSON     `json:"ttl_less"`
	Tries      uint64      `json:"tries"`
	AnswerTry  uint64      `json:"answer_tries"`
	Delay      *delayJSON  `json:"delay_ns"`
}

type lostJSON struct {
	SentAgain uint64 `json:"sent_again"`
	Open      uint64 `json:"open"`
}

type changeJSON struct {
	Packets uint64 `json:"packets"`
	From    uint8  `json:"from"`
	To      uint8  `json:"to"`
}

// ttlJSON is packets by how much less their hop limit was downstream.
type ttlJSON struct {
	By  [4]uint64
	Odd uint64
}

// MarshalJSON writes those that are not 0.
func (t ttlJSON) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	put := func(key string, n uint64) {
		if n == 0 {
			return
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = strconv.AppendQuote(b, key)
		b = strconv.AppendUint(append(b, ':'), n, 10)
	}
	for i, n := range t.By {
		put(strconv.Itoa(i), n)
	}
	put("other", t.Odd)
	return append(b, '}'), nil
}

type delayJSON struct {
	Count    uint64 `json:"count"`
	Min      int64  `json:"min"`
	P50      int64  `json:"p50"`
	P90      int64  `json:"p90"`
	P99      int64  `json:"p99"`
	Max      int64  `json:"max"`
	Negative uint64 `json:"negative"`
}

type hopJSON struct {
	Up         int    `json:"up"`
	Down       int    `json:"down"`
	Path       int    `json:"path"`
	Flows      int    `json:"flows"`
	DelayKnown bool   `json:"delay_absolute"`
	DelayError *int64 `json:"delay_uncertainty_ns"`
	countsJSON
}

type flowJSON struct {
	Source      string        `json:"source"`
	Destination string        `json:"destination"`
	DestQP      uint32        `json:"destination_qp"`
	SrcQP       *uint32       `json:"source_qp,omitempty"`
	Path        int           `json:"path"`
	IPID        bool          `json:"ip_id_unique"`
	Packets     uint64        `json:"packets"`
	Tries       uint64        `json:"tries"`
	TriesBefore uint64        `json:"tries_before"`
	LostBefore  uint64        `json:"lost_before"`
	Hops        []flowHopJSON `json:"hops"`
}

type flowHopJSON struct {
	Hop int `json:"hop"`
	countsJSON
}

type lossJSON struct {
	Hop    int     `json:"hop"`
	Flow   int     `json:"flow"`
	Time   int64   `json:"time"`
	Frame  *Frame  `json:"frame"`
	Opcode string  `json:"opcode"`
	PSN    uint32  `json:"psn"`
	IPID   *uint16 `json:"ip_id"`
	Fate   string  `json:"fate"`
}

// CorrelationJSON writes a correlation as JSON, see docs/correlate.md. Flows and
// losses are written one by one.
func CorrelationJSON(w io.Writer, c *Correlation, _ Options) error {
	r := c.Result
	o := newObject(w)
	o.member("schema", SchemaVersion)
	o.member("tool", c.Tool)
	if c.Partial {
		o.member("partial", true)
	}
	o.list("taps", len(r.Taps), func(i int) any { return newTapJSON(c, i) })
	o.list("clocks", len(r.Clocks), func(i int) any { return newClockJSON(&r.Clocks[i]) })
	o.list("paths", len(r.Paths), func(i int) any {
		p := &r.Paths[i]
		return pathJSON{p.Taps, p.Sureness.String(), p.Sureness.Sure(), p.Pairs, p.Flows, p.Conflicts}
	})
	o.list("hops", len(r.Hops), func(i int) any {
		h := &r.Hops[i]
		return hopJSON{h.Up, h.Down, h.Path, h.Flows, h.DelayKnown, orNull(h.DelayError), newCountsJSON(&h.Counts)}
	})
	o.list("flows", len(r.Flows), func(i int) any { return newFlowJSON(&r.Flows[i]) })
	o.list("losses", len(r.Losses), func(i int) any {
		l := &r.Losses[i]
		out := lossJSON{Hop: l.Hop, Flow: l.Flow, Time: l.Time, Frame: newFrame(l.Frame), Opcode: l.Opcode.String(), PSN: l.PSN, Fate: l.Fate.String()}
		if r.Flows[l.Flow].Kind == decode.AddrIPv4 {
			out.IPID = &l.IPID
		}
		return out
	})
	o.member("losses_left_out", r.LossesLeftOut)
	o.member("window_ns", r.Window)
	o.member("window_shortened", r.Shortened)
	o.member("matched_by_time", r.ByTime)
	o.member("findings", c.Findings)
	return o.close()
}

func orNull(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

func newTapJSON(c *Correlation, i int) tapJSON {
	t := &c.Result.Taps[i]
	out := tapJSON{
		Name: c.Names[i], Inputs: []Input{}, Packets: t.Packets, RoCE: t.RoCE, Aligned: t.Aligned, Resolution: t.Resolution,
		Doubled: t.Doubled, Duplicates: t.Duplicates, Missed: t.Missed, Answered: t.Answered, LeftOut: t.Unplaced,
	}
	for k := range t.Inputs {
		out.Inputs = append(out.Inputs, newInput(&t.Inputs[k]))
	}
	if t.Packets > 0 {
		out.First, out.Last = &t.First, &t.Last
	}
	if n, known := t.Drops(); known {
		out.Drops = &n
	}
	out.Alone.Flows, out.Alone.Packets = c.Result.Alone.Flows[i], c.Result.Alone.Packets[i]
	return out
}

func newClockJSON(c *correlate.Clock) clockJSON {
	out := clockJSON{
		A: c.A, B: c.B, Method: c.Method.String(), Offset: c.Offset, At: c.At, Uncertainty: orNull(c.Uncertainty), Drift: c.Drift, RoundTrip: orNull(c.RoundTrip),
		Samples: samplesJSON{c.Samples[0], c.Samples[1], c.Samples[2]}, Contradicted: c.Contradicted,
	}
	if c.DriftUncertainty >= 0 {
		out.DriftUncertainty = &c.DriftUncertainty
	}
	return out
}

func newCountsJSON(c *correlate.Counts) countsJSON {
	out := countsJSON{
		Packets: c.Upstream, Matched: c.Matched, Lost: lostJSON{c.Lost.SentAgain, c.Lost.Open}, Answered: c.Lost.Answered, Appeared: c.Appeared, Outside: c.Outside,
		Duplicated: c.Duplicated, Reordered: c.Reordered, Marked: c.Marked, Unmarked: c.Unmarked, DSCP: newChangeJSON(&c.DSCP), Priority: newChangeJSON(&c.Priority),
		Corrupted: c.Corrupted, CorruptUp: c.CorruptUp, TTL: ttlJSON{c.TTL, c.TTLOdd}, Tries: c.Tries, AnswerTry: c.AnswerTries,
	}
	if h := &c.Delay; h.Count > 0 {
		out.Delay = &delayJSON{h.Count, c.DelayMin, h.Quantile(0.5), h.Quantile(0.9), h.Quantile(0.99), h.Max, c.Negative}
	}
	return out
}

func newChangeJSON(c *correlate.Change) *changeJSON {
	if c.Packets == 0 {
		return nil
	}
	return &changeJSON{c.Packets, c.From, c.To}
}

func newFlowJSON(f *correlate.Flow) flowJSON {
	out := flowJSON{
		Source: string(f.Src.Append(nil, f.Kind)), Destination: string(f.Dst.Append(nil, f.Kind)), DestQP: f.DestQP, Path: f.Path,
		IPID: f.IPID, Packets: f.Packets, Tries: f.Tries, TriesBefore: f.TriesBefore, LostBefore: f.LostBefore, Hops: []flowHopJSON{},
	}
	if f.SrcQP != 0 {
		out.SrcQP = &f.SrcQP
	}
	for i := range f.Hops {
		out.Hops = append(out.Hops, flowHopJSON{f.Hops[i].Hop, newCountsJSON(&f.Hops[i].Counts)})
	}
	return out
}
