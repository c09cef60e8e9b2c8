// Package scenario simulates RoCE traffic and writes captures of it together
// with the truth: which packets were lost and where, what the requester did
// about it and why, and what of it a tap could see.
//
// A requester, a wire with a tap in it, and a responder are simulated as
// machines of their own on a virtual clock:
//
//	requester --(before)--> tap --(after)--> responder
//	requester <--(after)--- tap <--(before)-- responder
//
// Both sides of a session have a requester and a responder. The wire loses,
// corrupts, doubles, delays and marks packets ahead of the tap or behind it, as
// the list of faults says. The tap writes what passes it, or a part of that.
//
// The truth comes from the machines: a packet carries the pass that it was sent
// in, the wire notes what it did to which packet, the requester notes what made
// it go back. Nothing of it is concluded from the frames. That is why captures
// of this package can judge the decoder and the tracker, and why it imports
// neither: it has opcodes, headers and the ICRC of its own.
//
// RunPoints captures the same traffic at both sides as well as at the tap, each
// with a clock of its own that is ahead, drifts and stamps late, and says what
// the wire did in between.
//
// The same name and options give the same bytes.
package scenario
