package track_test

// exception is what of a scenario the tap can't know.
type exception struct {
	// timer says that it takes the ACK timeout, which nothing in the capture
	// tells, to know it.
	timer  bool
	what   []string // parts of complaints
	reason string
}

// lateNak is why the timer is needed.
const lateNak = "There is one step back of its kind, 17 ms after a NAK or a response beyond a missing one. Hosts that take so long to act " +
	"on it are real; that this one acts on its timer only the timer tells."

// exceptions are by scenario. Each must be needed: a scenario that agrees with
// the truth makes the test fail.
var exceptions = map[string]exception{
	"loss_nak_after":            {timer: true, reason: lateNak},
	"loss_read_response_silent": {timer: true, reason: lateNak},
	"random_loss":               {timer: true, reason: lateNak},
	"retry_exhausted_read":      {timer: true, reason: lateNak},
	"selective_repeat_again": {
		timer: true, what: []string{"lost before the tap: found 1, truth 2"},
		reason: "A single packet sent again was lost ahead of the tap. That the NAK made the requester send it, and was not lost, nothing shows.",
	},
	"sampled": {
		what:   []string{"lost by the capture"},
		reason: "What the capture lost shows where an answer covers it, and of the answers there is one in 16.",
	},
	"thinned_with_loss": {
		what: []string{"lost before the tap: found 5, truth 2", "lost by the capture: found 4, truth 5", "try of frame 318: place: found before_tap, truth after_tap"},
		reason: "Where the requester went back for something else, a packet that the mirror lost looks like one that was lost ahead of the tap. " +
			"A copy that the mirror lost of a packet that was sent twice nobody misses.",
	},
}
