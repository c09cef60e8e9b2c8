package schema

import (
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// What columns of several tables mean.
const (
	docProbe       = "Who captured or read it"
	docTap         = "Where: the file or the interface"
	docRun         = "The run that wrote it, see runs"
	docLoaded      = "When it came into the store"
	docSession     = "Id of the session"
	docVersion     = "How it is carried: v1, v2 or ib"
	docService     = "Transport service: RC, UC, RD, UD, XRC or unknown"
	docApplication = "What the service id or the port says, or empty"
	docAddr        = "IPv4 addresses are mapped (::ffff:10.0.0.1); a GID is written as one; a LID is the last 16 bits"
	docVNI         = "VNI of the tunnel that it is inside, or -1"
	docIncarnation = "Counts the lives of the same pair of QPNs, from 1"
	docFlow        = "The same number for all lives of the packets from one address to one QP (and VNI, and with UD the sender's QP)"
	histogramDoc   = "How many durations by bucket of the histogram"
)

// vni is a VNI, or -1 for none.
func vni(has bool, n uint32) int32 {
	if !has {
		return -1
	}
	return int32(n)
}

// sayMAC appends a MAC.
func sayMAC(dst []byte, m decode.MAC) []byte { return m.Append(dst) }

// The counters of NAKs by decode.NakCode, and of what record has numbers for.
var (
	nakCounters     = [5]string{"naks_sequence", "naks_invalid_request", "naks_remote_access", "naks_remote_operational", "naks_invalid_rd_request"}
	messageCounters = namesOf(record.NumMessageKinds, "", "s")
	tryCounters     = namesOf(record.NumCauses, "tries_", "")
	placeCounters   = namesOf(record.NumPlaces, "places_", "")
	modeCounters    = namesOf(record.NumModes, "modes_", "")
)

// namesOf are the names of the first n values of a type, each between two parts.
func namesOf[K interface {
	~uint8
	String() string
}](n K, before, after string) []string {
	names := make([]string, n)
	for k := range n {
		names[k] = before + k.String() + after
	}
	return names
}
