package track

// index finds flows by a key that several of them may have: entries with the
// same bucket are linked. What is put in first is found last.
type index struct {
	buckets []int32      // the newest entry of each, 0 for none
	entries []indexEntry // the first is none
	free    int32        // the first of those that are free, 0 without one
}

type indexEntry struct {
	f          *flow
	key        uint64
	next, prev int32 // in the same bucket, 0 for none
}

const minBuckets = 16

func newIndex() index {
	return index{buckets: make([]int32, minBuckets), entries: make([]indexEntry, 1)}
}

func (x *index) bucket(key uint64) *int32 { return &x.buckets[key&uint64(len(x.buckets)-1)] }

// first is the first entry of a key, and next the one after it; 0 without one.
func (x *index) first(key uint64) int32 { return x.find(*x.bucket(key), key) }

func (x *index) next(at int32) int32 { return x.find(x.entries[at].next, x.entries[at].key) }

func (x *index) find(at int32, key uint64) int32 {
	for at != 0 && x.entries[at].key != key {
		at = x.entries[at].next
	}
	return at
}

// add puts a flow in, and returns its entry.
func (x *index) add(key uint64, f *flow) int32 {
	at := x.free
	if at != 0 {
		x.free = x.entries[at].next
	} else {
		at = int32(len(x.entries))
		x.entries = push(x.entries, indexEntry{})
		if len(x.entries) > len(x.buckets) {
			x.grow()
		}
	}
	x.entries[at] = indexEntry{f: f, key: key}
	x.link(at)
	return at
}

func (x *index) link(at int32) {
	e := &x.entries[at]
	b := x.bucket(e.key)
	if e.prev, e.next = 0, *b; e.next != 0 {
		x.entries[e.next].prev = at
	}
	*b = at
}

// grow doubles the buckets. Entries with the same key keep their order.
func (x *index) grow() {
	old := x.buckets
	x.buckets = fresh[int32](2 * len(old))
	for _, at := range old {
		last := at
		for next := at; next != 0; next = x.entries[next].next {
			last = next
		}
		for last != 0 { // from the oldest
			prev := x.entries[last].prev
			x.link(last)
			last = prev
		}
	}
}

// remove takes an entry out.
func (x *index) remove(at int32) {
	e := x.entries[at]
	if e.prev != 0 {
		x.entries[e.prev].next = e.next
	} else {
		*x.bucket(e.key) = e.next
	}
	if e.next != 0 {
		x.entries[e.next].prev = e.prev
	}
	x.entries[at] = indexEntry{next: x.free}
	x.free = at
}
