package packets

import (
	"errors"
	"strings"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
)

// unknownFields says of each name that is no field what to use instead.
func unknownFields(names []string) error {
	say := make([]string, len(names))
	for i, name := range names {
		say[i] = unknownField(name)
	}
	return errors.New(strings.Join(say, "; "))
}

// protocolExamples are the fields that people want of the usual protocols.
var protocolExamples = map[string][]string{
	"frame":      {"frame.number", "frame.time_epoch", "frame.len"},
	"eth":        {"eth.src", "eth.dst", "eth.type"},
	"vlan":       {"vlan.id", "vlan.priority"},
	"ip":         {"ip.src", "ip.dst", "ip.dsfield.ecn"},
	"ipv6":       {"ipv6.src", "ipv6.dst", "ipv6.tclass.ecn"},
	"udp":        {"udp.srcport", "udp.dstport", "udp.length"},
	"infiniband": {"infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn"},
}

// maxExamples is how many fields an error names of a protocol without
// examples of its own.
const maxExamples = 3

// protocolOnly is what to say of a name that fields begin with and that is
// none itself: a protocol, for which tshark has a line of text, or a group of
// fields. It is empty for other names.
func protocolOnly(name string) string {
	examples := protocolExamples[name]
	if examples == nil {
		for _, f := range decode.Fields() {
			if strings.HasPrefix(f.Name, name+".") {
				examples = append(examples, f.Name)
			}
		}
		examples = examples[:min(len(examples), maxExamples)]
	}
	if len(examples) == 0 {
		return ""
	}
	what := "a protocol"
	if strings.Contains(name, ".") || name == "rocelens" {
		what = "a group of fields"
	}
	return capture.Quoted(name) + " is " + what + " and not a field: use its fields, such as " + strings.Join(examples, ", ") +
		" (rocelens fields " + name + ". lists them)"
}
