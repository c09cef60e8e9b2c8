package track

import (
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/sketch"
)

// flow is one direction towards one QP: what its sender sent, and the stream
// of its sender's requests. The other direction of the session is its peer,
// once it is found. What each packet needs comes first, and together: with a
// million sessions the time goes into waiting for memory.
type flow struct {
	src, dst decode.Addr
	qpn      uint32
	srcQP    uint32 // UD
	vni      uint32
	kind     decode.AddrKind
	version  record.Version
	hasVNI   bool
	ud       bool
	service  record.Service
	gone     bool  // closed, or replaced by a new life
	tos      uint8 // of the first packet
	strange  uint8 // packets of another service in a row; the first packet's priority, and more, see drift.go
	port     uint16
	orphan   bool // its peer is gone
	requests bool // it carries requests

	packets, bytes uint64
	payload        uint64
	last           frameRef
	req            *stream // &noStream where it has sent no request
	hall           *hall   // packets that wait for the pairing, nil where none do

	goodput uint64
	cut     uint64 // packets whose frame was truncated
	peer    *flow
	lat     *latencies
	more    *more
	trouble *trouble
	acks    uint64
	slot    int32  // among all flows, -1 once it is forgotten
	noted   uint32 // its number in Config.Notes

	life  *life
	group *group // of both addresses, while the peer is not known
	first frameRef
	open  bool     // it has an open interval
	_     [31]byte // whole lines
}

// frameRef is a record.FrameRef in less memory: the input is below 2^24.
type frameRef struct {
	time, offset int64
	number       uint64 // and in the upper 24 bits the input
}

func refOf(p *Packet) frameRef {
	return frameRef{p.Time, p.Offset, p.Number&(1<<40-1) | uint64(p.Input)<<40}
}

func (r frameRef) ref() record.FrameRef {
	return record.FrameRef{Time: r.time, Offset: r.offset, Number: r.number & (1<<40 - 1), Input: int32(r.number >> 40)}
}

func (r frameRef) before(o frameRef) bool { return r.ref().Before(o.ref()) }

// more is what few flows have.
type more struct {
	tos         []tosCount // other than that of the first packet
	odd         *odd
	portChanges uint64
	source      *udSource
	congestion  *congestion // nil without marks and CNPs
}

// tosCount counts packets with a type of service.
type tosCount struct {
	tos     uint8
	packets uint64
}

func (f *flow) extra() *more {
	if f.more == nil {
		f.more = new(more)
	}
	return f.more
}

// life is what both directions of a session share.
type life struct {
	incarnation uint32
	method      record.PairingMethod
	state       record.State
	failure     record.Failure
	back        back
	confidence  float64
	began       *flow       // the flow of side A
	conn        *connection // what CM said, nil where it was not seen
	failed      *flow       // whose requester gave up or was refused
	id          *string     // nil where its ends are name enough
}

// cm is what CM said, nil where it was not seen.
func (l *life) cm() *record.CM {
	if l.conn == nil {
		return nil
	}
	return &l.conn.conn.CM
}

// trouble are the counters of what most flows never have.
type trouble struct {
	naks          [5]uint64
	rnrNaks       uint64
	retransmitted record.Retransmitted
	wasted        record.Amount
	responses     record.ReadResponses
	episodes      uint64
	tries         [record.NumCauses]uint64
	places        [record.NumPlaces]uint64
	modes         [record.NumModes]uint64
	lost          record.Lost
	reordered     uint64
	undecided     uint64
	gaps, jumped  uint64
	shown         uint64 // responses among what was jumped over: to READs that were not seen
	duplicates    record.Duplicates
	requestCopies uint64 // of them, requests that the network doubled
	silences      uint64
	silenceTime   int64
	rnrTime       int64
	recovering    int64 // ns, of the episodes
	cnps          uint64
	icrcBad       uint64
	headersCut    uint64
	errors        uint64
	marks         *marks
	reaction      sketch.Histogram
}

// gap notes that a packet came behind others that were never seen until then,
// so many PSNs.
func (b *trouble) gap(jumped uint64) {
	b.gaps++
	b.jumped += jumped
}

// latencies are a requester's.
type latencies struct {
	ack   sketch.Histogram
	kinds [record.NumMessageKinds]*sketch.Histogram // of messages, nil without one
	one   sketch.Histogram                          // of the kind that was first
}

func (f *flow) bad() *trouble {
	if f.trouble == nil {
		f.trouble = new(trouble)
	}
	return f.trouble
}

func (t *Tracker) latencies(f *flow) *latencies {
	if f.lat == nil {
		f.lat = t.slabs.latencies.get()
	}
	return f.lat
}

func (l *latencies) kind(k record.MessageKind) *sketch.Histogram {
	if l.kinds[k] == nil {
		l.kinds[k] = &l.one
		if l.one.Count > 0 {
			l.kinds[k] = new(sketch.Histogram)
		}
	}
	return l.kinds[k]
}

// count counts a packet that the flow's sender sent, whatever it is.
func (f *flow) count(p *Packet) {
	f.packets++
	f.bytes += uint64(p.WireLen)
	f.payload += uint64(p.Payload)
	f.last = refOf(p)
	if p.SrcPort != f.port {
		f.port = p.SrcPort
		f.extra().portChanges++
	}
	if p.is(truncated) {
		f.cut++
	}
	if p.TOS != f.tos {
		f.extra().countTOS(p.TOS, 1)
	}
	if p.PKey != 0 || p.priority() != f.priority() {
		f.countOdd(p, 1)
	}
}

// countTOS counts packets whose type of service is not that of the first.
func (m *more) countTOS(tos uint8, n uint64) { m.tos = countTOS(m.tos, tos, n) }

func countTOS(all []tosCount, tos uint8, n uint64) []tosCount {
	for i := range all {
		if all[i].tos == tos {
			all[i].packets += n
			return all
		}
	}
	return append(all, tosCount{tos, n})
}

// eachTOS calls do with each type of service of f's packets, and how many have
// it.
func (f *flow) eachTOS(do func(tos uint8, packets uint64)) {
	same := f.packets
	if f.more != nil {
		for _, c := range f.more.tos {
			same -= c.packets
		}
	}
	if same > 0 {
		do(f.tos, same)
	}
	if f.more != nil {
		for _, c := range f.more.tos {
			if c.packets > 0 {
				do(c.tos, c.packets)
			}
		}
	}
}

// noStream is the stream of flows that have sent no request. It is not written
// to.
var noStream = stream{reads: &noReads}

// ownStream gives f a stream of its own, and returns it.
func (t *Tracker) ownStream(f *flow) *stream {
	if f.req == &noStream {
		f.req = t.slabs.streams.get()
		f.req.messages, f.req.samples = f.req.oneMessage[:0], f.req.oneSample[:0]
		f.req.reads = &noReads
	}
	return f.req
}

// stream is a requester's PSN space: its requests, and what the answers say of
// them. Its fields are in groups, each a line of the processor's cache, see
// cacheLine: a request that follows the one before needs the first four.
type stream struct {
	pos      uint32 // one past the last request seen
	max      uint32 // one past the highest
	acked    uint32 // everything below is acknowledged, with hasAcked
	start    uint32 // the first PSN seen
	peak     uint32 // most packets outstanding
	mtu      uint32 // of First and Middle payloads, 0 where unknown
	longest  uint32 // payload
	ids      ids
	notMTU   uint8 // path MTUs that the widths of READs exclude, a bit for each of mtus
	idle     uint8 // how many long pauses with nothing outstanding there were
	begun    bool
	heard    bool // an answer was seen
	hasAcked bool
	// ackedEarly says that, without hasAcked, acked is what was acknowledged before
	// the first request seen.
	ackedEarly bool
	blind      bool // what it does can't be followed, see Tracker.hidden
	repeat     bool // this pass began with a step back
	guessed    bool // the newest READ's width rests on a guessed path MTU
	selective  bool // its requester repairs selectively
	inMessage  bool // the last request seen was not the end of its message
	lastOp     decode.Opcode
	last       int64 // time of the last request

	lastAnswer int64
	pause      int64 // longest usual pause between requests, ns
	rec        *recovery
	spent      *spent // nil where it is not busy
	messages   []message
	cum        uint64 // payload bytes

	cumAcked                uint64 // of cum, those in messages that are acknowledged
	peakBytes               uint64
	left                    int64  // bytes of the WRITE under way that are to come
	readMTU                 uint32 // of READ responses, or of the PSNs that READs take
	requestPath, answerPath pathToTap
	passes                  uint32
	samples                 []sample

	// Room for what most streams have one of at a time.
	oneMessage [1]message
	oneSample  [1]sample
	msn        uint32 // of the newest ACK, with hasMSN
	msnAt      uint32 // its PSN
	pass       uint32 // where this pass began
	hasMSN     bool

	sent      [record.NumMessageKinds]uint64
	completed uint64
	longPause int64   // the longest pause with nothing outstanding, of those that idle counts
	timeout   int64   // learnt ACK timeout, ns, 0 where there was none
	*reads            // &noReads where there was none
	_         [8]byte // whole lines
}

// reads are the READs and atomics of a stream, and the responses to them.
type reads struct {
	owed     []owed
	answered int // of owed
	resp     *responses
}

// noReads is what streams without any have. It is not written to.
var noReads reads

// message is a request message that is not completed.
type message struct {
	lo, hi  uint32
	start   int64 // of the first packet seen of it
	cum     uint64
	kind    record.MessageKind
	ended   bool // its last packet was seen
	partial bool // its first packet was not
	joined  bool // it may be the rest of the one before, which has no end yet
	owing   bool
	done    bool
}

// sample is a packet whose acknowledgement is waited for.
type sample struct {
	psn  uint32
	time int64
}

// owed are the responses that a READ or an atomic has asked for.
type owed struct {
	lo, hi   uint32
	bytes    uint32 // of a READ
	got      uint32 // responses seen in their order
	kind     record.MessageKind
	answered bool
	again    bool // it was asked for again
}
