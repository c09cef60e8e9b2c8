package groundtruth_test

import (
	"testing"

	"github.com/rocelens/rocelens/pipeline/record"
)

// TestConformance: Soft-RoCE keeps the rules of the transport, whatever the
// network does to its packets.
func TestConformance(t *testing.T) {
	for _, a := range all(t) {
		for i := range a.res.Events {
			if d, is := a.res.Events[i].Detail.(record.ProtocolError); is {
				t.Errorf("%s: frame %d: %+v", a.name, a.res.Events[i].Frame.Number, d)
			}
		}
		for _, d := range sides(a.res) {
			if d.ProtocolErrors > 0 {
				t.Errorf("%s: %s -> %s: %d protocol errors", a.name, endKey(d.from), d.toKey(), d.ProtocolErrors)
			}
		}
	}
}
