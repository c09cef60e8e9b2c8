package filter

import (
	"strings"

	"github.com/rocelens/rocelens/decode"
)

// valueName is a name that a number of a field has.
type valueName struct {
	num  uint64
	name string
}

// maxNamed is how far numbers are asked for their names. No field names larger
// ones: those that have 32 bits or more are parts of them, or have names for
// durations and the like.
const maxNamed = 1<<16 - 1

// hasNames says whether values of the field have names.
func hasNames(f *decode.Field) bool {
	return f != nil && (f.Values != nil || f.Type == decode.TypeBool)
}

// namesOf are all names of the field's values: Wireshark's, and those of ours
// that differ.
func namesOf(f *decode.Field) []valueName {
	var names []valueName
	last := min(f.Max(), maxNamed)
	opcode := f == opcodeField
	for v := uint64(0); v <= last; v++ {
		name := nameOf(f, v)
		if name == "" {
			continue
		}
		names = append(names, valueName{v, name})
		if opcode {
			names = append(names, opcodeNames(decode.Opcode(v), name)...)
		}
	}
	return names
}

// nameOf is Wireshark's name of a value, "" for none.
func nameOf(f *decode.Field, v uint64) string {
	if f.Values == nil {
		if f.Type == decode.TypeBool {
			return [2]string{"False", "True"}[v&1]
		}
		return ""
	}
	return f.Values(v)
}

var opcodeField = decode.FieldByName("infiniband.bth.opcode")

// opcodeNames are what an opcode is called besides Wireshark's name, "Reliable
// Connection (RC) - SEND Only": our "RC SEND Only", and "RC - SEND Only".
func opcodeNames(o decode.Opcode, wireshark string) (names []valueName) {
	if !o.Known() {
		return nil
	}
	names = append(names, valueName{uint64(o), o.Text()})
	if _, after, ok := strings.Cut(wireshark, " - "); ok {
		names = append(names, valueName{uint64(o), o.Service().String() + " - " + after})
	}
	return names
}

// nameTable is what vals() makes of a field's numbers.
type nameTable struct {
	field *decode.Field
	names map[uint64][]byte // of small numbers
}

func newNameTable(f *decode.Field) *nameTable {
	t := &nameTable{field: f, names: map[uint64][]byte{}}
	last := min(f.Max(), 255)
	for v := uint64(0); v <= last; v++ {
		if name := nameOf(f, v); name != "" {
			t.names[v] = []byte(name)
		}
	}
	return t
}

// name is the name of a number, or the number where it has none.
func (t *nameTable) name(m *machine, v uint64) []byte {
	if b := t.names[v]; b != nil {
		return b
	}
	start := len(m.text)
	if name := nameOf(t.field, v); name != "" && v > 255 {
		m.text = append(m.text, name...)
	} else {
		m.text = appendUint(m.text, v)
	}
	return m.text[start:len(m.text):len(m.text)]
}
