package filter

import (
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/capture/frametest"
	"github.com/rocelens/rocelens/decode"
)

// sameAsTable says whether what is read from the packet itself is what the field
// table says.
func sameAsTable(t *testing.T, p *decode.Packet, x *decode.Extra) {
	t.Helper()
	x.Reset()
	var values []decode.Value
	for name, get := range flats {
		a, b, n := get(p)
		if n == askTable {
			continue
		}
		f := decode.FieldByName(name)
		values = f.Append(values[:0], x, p)
		flat := []uint64{a, b}[:n]
		same := len(values) == n
		for i := 0; same && i < n; i++ {
			same = convert(fieldKind(f), &values[i]).num == flat[i]
		}
		if !same {
			t.Errorf("%s is %v, the table has %v: frame %d, %d bytes, %s, %s", name, flat, values, p.Frame.Number, len(p.Data), p.Kind, p.Err.Error())
		}
	}
	for name, get := range flats6 {
		a, b, n := get(p)
		if n == askTable {
			continue
		}
		values = decode.FieldByName(name).Append(values[:0], x, p)
		flat := []decode.Addr{a, b}[:n]
		same := len(values) == n
		for i := 0; same && i < n; i++ {
			same = addr6(values[i].Bytes) == flat[i]
		}
		if !same {
			t.Errorf("%s is %v, the table has %v: frame %d, %d bytes, %s", name, flat, values, p.Frame.Number, len(p.Data), p.Kind)
		}
	}
}

// TestFlat compares the fields that are read from the packet itself with the
// field table, on the packets of all captures, cut at every length.
func TestFlat(t *testing.T) {
	for name := range flats {
		if f := decode.FieldByName(name); f == nil || !fieldKind(f).scalar() {
			t.Fatalf("%s is no field that a number stands for", name)
		}
	}
	answered := map[string]bool{}
	for _, c := range capturetest.Committed(t) {
		d := decode.New(decode.DefaultConfig())
		var p decode.Packet
		var x decode.Extra
		frametest.Each(t, c.Path, func(f *capture.Frame) {
			step := 1
			if f.Number > 60 {
				if f.Number%50 != 0 {
					return
				}
				step = 7
			}
			cut := *f
			for n := len(f.Data); n >= 0; n -= step {
				if n > 140 {
					n = max(140, n-200)
				}
				cut.Data = f.Data[:n]
				d.Decode(&cut, &p)
				sameAsTable(t, &p, &x)
				if n == len(f.Data) || n == 140 {
					for name, get := range flats {
						_, _, k := get(&p)
						answered[name] = answered[name] || k > 0
					}
				}
			}
			if t.Failed() {
				t.Fatalf("%s, frame %d", c.Name, f.Number)
			}
		})
	}
	for name := range flats {
		if !answered[name] {
			t.Errorf("%s is never read from the packet itself", name)
		}
	}
}
