package packets

import (
	"io"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/decode"
)

// TestUnknownFields: an error speaks of every name that is no field, once, and
// of each says what to use.
func TestUnknownFields(t *testing.T) {
	for _, tc := range []struct {
		names, want string
	}{
		{"nonexist", `unknown field "nonexist": rocelens fields lists those there are`},
		{"frame.number nonexist psn nonexist", `unknown field "nonexist": rocelens fields lists those there are; unknown field "psn": did you mean infiniband.bth.psn?`},
		{`ip\.src`, `unknown field "ip\.src": did you mean ip.src?`},
		{"x\x1b", `unknown field "x\x1b": rocelens fields lists those there are`},
		{"vlan", `"vlan" is a protocol and not a field: use its fields, such as vlan.id, vlan.priority (rocelens fields vlan. lists them)`},
		{"geneve", `"geneve" is a protocol and not a field: use its fields, such as geneve.version, geneve.flags, geneve.flags.oam (rocelens fields geneve. lists them)`},
		{"macc.cbfc", `"macc.cbfc" is a group of fields and not a field: use its fields, such as macc.cbfc.enbv, macc.cbfc.enbv.c0, macc.cbfc.enbv.c1 (rocelens fields macc.cbfc. lists them)`},
		{"bth", `unknown field "bth": did you mean infiniband.bth?`},
	} {
		if _, err := NewFields(io.Discard, strings.Fields(tc.names), DefaultFieldsOptions()); err == nil || err.Error() != tc.want {
			t.Errorf("%s: %v\nwant %s", tc.names, err, tc.want)
		}
	}
	if _, err := NewFields(io.Discard, []string{"ip.src", "ip.src"}, DefaultFieldsOptions()); err != nil {
		t.Error(err)
	}
}

// TestProtocolExamples: what an error names exists, and every protocol that has
// fields is known to be one.
func TestProtocolExamples(t *testing.T) {
	for protocol, names := range protocolExamples {
		for _, name := range names {
			if decode.FieldByName(name) == nil || !strings.HasPrefix(name, protocol+".") {
				t.Errorf("%s: %s is no field of it", protocol, name)
			}
		}
	}
	for _, f := range decode.Fields() {
		if protocol, _, _ := strings.Cut(f.Name, "."); !strings.Contains(protocolOnly(protocol), " not a field") {
			t.Errorf("%s is not known as a protocol", protocol)
		}
	}
}
