package scenario

// PauseTruth is what one sender of PFC or PAUSE frames did to one priority, at
// one interface.
type PauseTruth struct {
	Interface string `json:"interface"`
	// Speed is the link's, bits a second, where the file has it, else 0.
	Speed    uint64 `json:"speed"`
	MAC      string `json:"src_mac"`
	Type     string `json:"type"` // pfc or 802.3x
	Priority int    `json:"priority"`
	XOff     uint64 `json:"xoff"` // frames that stop it
	XOn      uint64 `json:"xon"`  // frames that let it go on
	// Spans are the times for which it was stopped at the tap, whatever the
	// other end made of it.
	Spans []*PauseSpan `json:"spans"`
}

// PauseSpan is one time for which a priority was stopped.
type PauseSpan struct {
	Start  int64  `json:"start"`
	End    int64  `json:"end"`
	Why    string `json:"why"`    // xon, expired or capture_end
	Frames uint64 `json:"frames"` // that stop it
}

// StormTruth is a pause that lasts for very long, of one priority or several.
type StormTruth struct {
	Interface  string `json:"interface"`
	MAC        string `json:"src_mac"`
	Priorities []int  `json:"priorities"`
	Start      int64  `json:"start"`
	End        int64  `json:"end"`
}

// SpreadTruth says that a sender pauses others because it is paused itself.
type SpreadTruth struct {
	PausedBy string `json:"paused_by"` // MAC of who pauses it
	At       string `json:"at"`        // the interface where
	MAC      string `json:"src_mac"`   // of itself
	Then     string `json:"then"`      // the interface where it pauses others
	Priority int    `json:"priority"`
	Times    uint64 `json:"times"`
}

// PacketsTruth counts what one station sent of one priority on one link.
type PacketsTruth struct {
	Interface string `json:"interface"`
	MAC       string `json:"src_mac"`
	Priority  int    `json:"priority"`
	DSCP      int    `json:"dscp"`
	Tagged    bool   `json:"tagged"` // it has the priority in a VLAN tag
	QPN       uint32 `json:"dest_qpn"`
	Packets   uint64 `json:"packets"`
	// Paused counts those that were captured while the priority was stopped,
	// and Late those of them later than 50 us after it was, of a station that
	// does not stop.
	Paused uint64 `json:"packets_paused"`
	Late   uint64 `json:"packets_late"`
}
