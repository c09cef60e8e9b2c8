package decode

// The field table: what the tracker of sessions says of a packet. These fields
// are there where Extra.Note is. Those that say yes or no are there only where
// the answer is yes, as Wireshark's tcp.analysis fields are: a filter on their
// name alone finds the packets.

var noteHeader = headerRows{LayerNone, "rocelens", "rocelens", []row{
	note("session", "Session", TypeString, func(n *Note, x *Extra, v *Value) bool {
		v.Bytes = x.text(n.Session)
		return n.Session != ""
	}),
	note("stream", "Stream of side", TypeString, func(n *Note, _ *Extra, v *Value) bool {
		v.Bytes = streamBytes[n.Stream&1]
		return n.Session != ""
	}),
	note("role", "Role", TypeString, func(n *Note, x *Extra, v *Value) bool {
		v.Bytes = x.text(n.Role.String())
		return true
	}),
	note("verdict", "Verdict", TypeString, func(n *Note, x *Extra, v *Value) bool {
		v.Bytes = x.text(n.Verdict.String())
		return true
	}),
	noteIf("retransmission", "Sent again", (*Note).Retransmission),
	noteIf("wasted", "Sent again although seen in the pass before", func(n *Note) bool { return n.Has(NoteWasted) }),
	noteIf("late", "Overtaken on its way", func(n *Note) bool { return n.Verdict == VerdictLate }),
	note("duplicate", "Duplicate made by", TypeString, func(n *Note, x *Extra, v *Value) bool {
		if n.Verdict == VerdictCopy {
			v.Bytes = x.text(n.copiedBy())
		}
		return n.Verdict == VerdictCopy
	}),
	note("pass", "Pass", TypeUint32, func(n *Note, _ *Extra, v *Value) bool {
		v.Num = uint64(n.Pass)
		return n.Role == RoleRequest
	}),
	note("try", "Try of its episode", TypeUint32, func(n *Note, _ *Extra, v *Value) bool {
		v.Num = uint64(n.Try)
		return n.Try > 0
	}),
	noteIf("try.first", "First packet of the try", func(n *Note) bool { return n.Has(NoteFirstOfTry) }),
	ofTry("cause", "Cause of the try", func(n *Note) string { return n.Cause.String() }),
	ofTry("place", "Place of the loss", func(n *Note) string { return n.Place.String() }),
	ofTry("mode", "Mode of the try", func(n *Note) string { return n.Mode.String() }),
	note("silence", "Silence before the try", TypeDuration, func(n *Note, _ *Extra, v *Value) bool {
		v.Num = uint64(n.Silence)
		return n.Has(NoteFirstOfTry)
	}),
	noteIf("names_loss", "Names a packet that went by the tap", func(n *Note) bool { return n.Has(NoteNamesLoss) }),
	noteIf("refusal", "Repeats an RNR NAK", func(n *Note) bool { return n.Has(NoteRefusal) }),
	note("protocol_error", "Rule that it breaks", TypeString, func(n *Note, x *Extra, v *Value) bool {
		v.Bytes = x.text(n.Rule)
		return n.Rule != ""
	}),
	note("ack_latency", "ACK latency", TypeDuration, func(n *Note, _ *Extra, v *Value) bool {
		v.Num = uint64(n.AckLatency)
		return n.Has(NoteAckLatency)
	}),
	note("message_latency", "Message latency", TypeDuration, func(n *Note, _ *Extra, v *Value) bool {
		v.Num = uint64(n.MessageLatency)
		return n.Has(NoteMessageLatency)
	}),
}}

var streamBytes = [2][]byte{[]byte("a"), []byte("b")}

func note(name, label string, typ FieldType, read func(n *Note, x *Extra, v *Value) bool) row {
	return row{0, "rocelens." + name, label, typ, Dec, 0, 0, 0, rowOptions{ours: true, note: true, read: func(x *Extra, _ *Packet, _ Layer, v *Value) bool {
		return x.Note != nil && read(x.Note, x, v)
	}}}
}

// noteIf is a field that is there, and true, or not there at all.
func noteIf(name, label string, is func(n *Note) bool) row {
	return note(name, label, TypeBool, func(n *Note, _ *Extra, v *Value) bool {
		v.Num = 1
		return is(n)
	})
}

// ofTry is a text that packets of a try have.
func ofTry(name, label string, text func(n *Note) string) row {
	return note(name, label, TypeString, func(n *Note, x *Extra, v *Value) bool {
		if n.Try > 0 {
			v.Bytes = x.text(text(n))
		}
		return n.Try > 0
	})
}
