package track

import (
	"reflect"
	"slices"
)

// slabs give what each session has. Of a million sessions the garbage collector
// so sees some ten thousand things, and not ten million.
type slabs struct {
	flows      slab[flow]
	streams    slab[stream]
	lives      slab[life]
	latencies  slab[latencies]
	halls      slab[hall]
	recoveries slab[recovery]
}

// oneByOne lets each thing go when it is no more in use, whatever others of its
// chunk are.
func (s *slabs) oneByOne() {
	s.flows.one, s.streams.one, s.lives.one, s.latencies.one, s.halls.one, s.recoveries.one = true, true, true, true, true, true
}

// slab gives one value after the other. They go when all of a chunk are no more
// in use.
type slab[T any] struct {
	rest  []T
	spare []*T // given back
	one   bool // there is no chunk
}

// chunkBytes is how much is allocated at once. The allocator takes the first
// allocatorBytes of it itself, so that what is as long as some lines of the
// processor's cache begins as many bytes into one.
const (
	chunkBytes     = 8 << 10
	allocatorBytes = 8
	cacheLine      = 64
)

// maxSpare is how many values that were given back wait for somebody.
const maxSpare = 64

// put gives a value back that nobody will look for any more.
func (s *slab[T]) put(v *T) {
	if len(s.spare) < maxSpare {
		s.spare = append(s.spare, v)
	}
}

func (s *slab[T]) get() *T {
	if n := len(s.spare); n > 0 {
		v := s.spare[n-1]
		s.spare = s.spare[:n-1]
		*v = *new(T)
		return v
	}
	if s.one {
		return new(T)
	}
	if len(s.rest) == 0 {
		s.rest = fresh[T]((chunkBytes - allocatorBytes) / int(reflect.TypeFor[T]().Size()))
	}
	v := &s.rest[0]
	s.rest = s.rest[1:]
	return v
}

// push is append that doubles the room of long slices too. append itself goes by a
// quarter, and leaves four times as much behind as is in use.
func push[T any](s []T, v T) []T {
	if len(s) == cap(s) {
		s = slices.Grow(s, max(len(s), 1))
	}
	return append(s, v)
}

// fresh is make for what is written here and there. Memory that is new to the
// process is read before it is written, as the compiler looks whether a pointer is
// nil, and then the kernel has to give two pages for one, and to interrupt the other
// processors for the second. It is written once from one end to the other instead.
func fresh[T any](n int) []T {
	s := make([]T, n)
	clear(s)
	return s
}
