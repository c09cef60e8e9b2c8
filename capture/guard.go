package capture

import "runtime/debug"

const cutWhileRead = "the file was cut while it was being read"

// faulter is a Source that has mappings.
type faulter interface {
	faulted(addr uintptr) *DamagedError
}

// Guard runs fn, which touches frames of src, and returns what fn returns. Large
// files are mapped into memory; if one of them is cut short by somebody else
// meanwhile, touching the part that is gone is a fault that would end the
// program. Under Guard it ends fn alone, with a *DamagedError. Any other panic
// goes on.
//
// It holds for the goroutine that calls it, so each that touches frames needs
// its own; around a batch it costs nothing that can be measured.
func Guard(src Source, fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if addr, ok := faultAddress(r); ok {
			if s, ok := src.(faulter); ok {
				if d := s.faulted(addr); d != nil {
					err = d
					return
				}
			}
		}
		panic(r)
	}()
	return fn()
}

// faultAddress is where a memory fault that became a panic happened.
func faultAddress(r any) (uintptr, bool) {
	fault, ok := r.(interface {
		error
		RuntimeError()
		Addr() uintptr
	})
	if !ok {
		return 0, false
	}
	return fault.Addr(), true
}

// fault tells faults in the mapping from other panics.
func (m *mapping) fault(r any) (at int64, ok bool) {
	addr, ok := faultAddress(r)
	if !ok {
		return 0, false
	}
	return m.offset(addr)
}
