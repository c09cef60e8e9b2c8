package scenario

// Truth is what happened, as the simulation knows it. Times are nanoseconds of
// capture time. Frames are numbered from 1 as in the file; 0 says that there is
// none. PSNs are those on the wire, 24 bits.
type Truth struct {
	Scenario string `json:"scenario"`
	// About is the scenario's line in the list.
	About string `json:"about"`
	Seed  uint64 `json:"seed"`
	// Frames and Bytes are those in the file, Bytes before any cut.
	Frames uint64 `json:"frames"`
	Bytes  uint64 `json:"bytes"`
	First  int64  `json:"first"` // time of the first frame
	Last   int64  `json:"last"`

	Network NetworkTruth `json:"network"`
	Tap     TapTruth     `json:"tap"`
	Totals  Totals       `json:"totals"`
	// SessionCount is how many there are, and Sessions are they: none of them
	// in the large captures for benchmarks if there are more than 1,000.
	SessionCount int             `json:"session_count"`
	Sessions     []*SessionTruth `json:"sessions"`

	// The scenarios of flow control have these, and no sessions.
	Pauses  []*PauseTruth   `json:"pauses,omitempty"`
	Storms  []*StormTruth   `json:"storms,omitempty"`
	Spreads []*SpreadTruth  `json:"spreads,omitempty"`
	Packets []*PacketsTruth `json:"packets,omitempty"` // one for each source
}

// NetworkTruth is where the tap stood.
type NetworkTruth struct {
	Speed    uint64 `json:"speed"`
	LatencyA int64  `json:"latency_a"` // ns between a and the tap
	LatencyB int64  `json:"latency_b"`
	Vantage  string `json:"vantage"` // of stream a: requester, responder or between
	IPID     string `json:"ip_id"`   // rising, zero, constant or none
}

// TapTruth is what was captured of what passed.
type TapTruth struct {
	Direction string `json:"direction"` // both, a_to_b or b_to_a
	Tunnel    string `json:"tunnel,omitempty"`
	VLAN      uint16 `json:"vlan,omitempty"`
	Priority  uint8  `json:"priority,omitempty"`
	Snaplen   int    `json:"snaplen,omitempty"`
	Sample    int    `json:"sample,omitempty"`
	Twice     string `json:"twice,omitempty"` // how the copies differ
	Copies    uint64 `json:"copies"`          // frames that are a second copy made by the mirror
	Lost      uint64 `json:"lost"`            // frames that the mirror lost or left out
	// Counted says that the file itself tells Lost, as a count of drops.
	Counted bool  `json:"counted,omitempty"`
	From    int64 `json:"from,omitempty"` // nothing before
	To      int64 `json:"to,omitempty"`
}

// Totals are sums over all sessions.
type Totals struct {
	RequestsSeen   uint64 `json:"requests_seen"` // without copies and corrupt ones
	AnswersSeen    uint64 `json:"answers_seen"`
	FirstSeen      uint64 `json:"first_seen"`
	Fills          uint64 `json:"fills"`
	Repeats        uint64 `json:"repeats"`
	Late           uint64 `json:"late"`
	Wasted         uint64 `json:"wasted"`
	DropsBefore    uint64 `json:"drops_before_tap"`
	DropsAfter     uint64 `json:"drops_after_tap"`
	Tries          uint64 `json:"tries"`
	TriesVisible   uint64 `json:"tries_visible"`
	Episodes       uint64 `json:"episodes"`
	NAKs           uint64 `json:"naks"`      // sequence NAKs sent
	NAKsSeen       uint64 `json:"naks_seen"` // of them in the file
	RNRs           uint64 `json:"rnrs"`
	RNRsSeen       uint64 `json:"rnrs_seen"`
	CESeen         uint64 `json:"ce_seen"`
	CNPs           uint64 `json:"cnps"`
	CNPsSeen       uint64 `json:"cnps_seen"`
	CorruptSeen    uint64 `json:"corrupt_seen"`
	NetworkCopies  uint64 `json:"network_copies_seen"`
	CaptureLosses  uint64 `json:"capture_losses"`
	PausesSeen     uint64 `json:"pauses_seen"` // PFC frames, see Spec.Pausing
	MessagesDone   uint64 `json:"messages_done"`
	SessionsFailed uint64 `json:"sessions_failed"`
}

// SessionTruth is one connection, in one life.
type SessionTruth struct {
	ID      int      `json:"id"`
	Service Service  `json:"service"`
	A       SideInfo `json:"a"`
	B       SideInfo `json:"b"`
	PathMTU int      `json:"path_mtu"`
	// Life counts the sessions with the same addresses and QPNs, from 1.
	Life int      `json:"life"`
	CM   *CMTruth `json:"cm,omitempty"`
	// AckTimeout is 4.096 us times 2 to the power of its code, in ns.
	AckTimeout int64 `json:"ack_timeout"`
	RetryCount int   `json:"retry_count"`
	RNRRetry   int   `json:"rnr_retry"`
	// Marking is what the packets' headers say, where that is not the usual.
	Marking *MarkingTruth `json:"marking,omitempty"`
	// State is done, failed, refused, unanswered or open (the simulation ended
	// first). Why says what failed: retry_exceeded, rnr_retry_exceeded,
	// remote_access_error, ...
	State   string         `json:"state"`
	Why     string         `json:"why,omitempty"`
	Start   int64          `json:"start"`
	End     int64          `json:"end"`
	Streams []*StreamTruth `json:"streams"`
}

// SideInfo is one end of a session.
type SideInfo struct {
	Addr     string `json:"addr"`
	MAC      string `json:"mac"`
	QPN      uint32 `json:"qpn"`
	StartPSN uint32 `json:"start_psn"`
	SRQ      uint32 `json:"srq,omitempty"`
	UDPPort  uint16 `json:"udp_port,omitempty"`

	Counters Counters `json:"counters"`
}

// Counters are what the side's card would count for this session, under the
// names that mlx5 gives them.
type Counters struct {
	OutOfSequence    uint64 `json:"out_of_sequence"`   // requests beyond the expected PSN that arrived
	DuplicateRequest uint64 `json:"duplicate_request"` // requests before it
	PacketSeqErr     uint64 `json:"packet_seq_err"`    // NAKs 0x60 that arrived
	ImpliedNAKSeqErr uint64 `json:"implied_nak_seq_err"`
	LocalAckTimeout  uint64 `json:"local_ack_timeout_err"`
	RNRNAKRetryErr   uint64 `json:"rnr_nak_retry_err"` // RNR NAKs that arrived
	OutOfBuffer      uint64 `json:"out_of_buffer"`     // requests refused for want of a buffer
	ICRCErrors       uint64 `json:"rx_icrc_encapsulated"`
	ECNMarked        uint64 `json:"np_ecn_marked_roce_packets"`
	CNPSent          uint64 `json:"np_cnp_sent"`
	CNPHandled       uint64 `json:"rp_cnp_handled"`
	ReadRequests     uint64 `json:"rx_read_requests"` // that were executed, duplicates among them
	WriteRequests    uint64 `json:"rx_write_requests"`
	AtomicRequests   uint64 `json:"rx_atomic_requests"`
}

// CMTruth is how the connection was made.
type CMTruth struct {
	Result    string    `json:"result"` // connected, refused, unanswered
	ServiceID uint64    `json:"service_id"`
	Messages  []CMFrame `json:"messages"`
}

// CMFrame is one message of connection management.
type CMFrame struct {
	Message string `json:"message"` // REQ, REP, RTU, REJ, DREQ, DREP
	From    string `json:"from"`    // a or b
	Time    int64  `json:"time"`    // of sending
	Frame   uint64 `json:"frame"`
	Again   bool   `json:"again,omitempty"` // a retransmission
}
