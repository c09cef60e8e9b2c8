package track

import "reflect"

// slabs give what each session has. Of a million sessions the garbage collector
// so sees some ten thousand things, and not ten million.
type slabs struct {
	flows     slab[flow]
	streams   slab[stream]
	lives     slab[life]
	latencies slab[latencies]
}

// oneByOne lets each thing go when it is no more in use, whatever others of its
// chunk are.
func (s *slabs) oneByOne() {
	s.flows.one, s.streams.one, s.lives.one, s.latencies.one = true, true, true, true
}

// slab gives one value after the other. They go when all of a chunk are no more
// in use.
type slab[T any] struct {
	rest []T
	one  bool // there is no chunk
}

// chunkBytes is how much is allocated at once.
const chunkBytes = 8 << 10

func (s *slab[T]) get() *T {
	if s.one {
		return new(T)
	}
	if len(s.rest) == 0 {
		s.rest = make([]T, (chunkBytes-8)/reflect.TypeFor[T]().Size()) // the allocator takes 8 bytes itself
	}
	v := &s.rest[0]
	s.rest = s.rest[1:]
	return v
}
