package correlate

// slotUse names an entry for as long as its slot is not used for another.
type slotUse struct {
	slot   int32
	serial uint32
}

// ring is a queue of entries.
type ring struct {
	buf  []slotUse
	head int
	n    int
}

func (r *ring) push(u slotUse) {
	if r.n == len(r.buf) {
		grown := make([]slotUse, max(2*len(r.buf), 1<<10))
		for i := range r.n {
			grown[i] = r.buf[(r.head+i)&(len(r.buf)-1)]
		}
		r.buf, r.head = grown, 0
	}
	r.buf[(r.head+r.n)&(len(r.buf)-1)] = u
	r.n++
}

func (r *ring) front() slotUse { return r.buf[r.head] }

func (r *ring) pop() {
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
}

// alive says whether an entry is still the one that was put into a queue.
func (m *matcher) alive(u slotUse) bool {
	e := m.entry(u.slot)
	return e.used && e.serial == u.serial
}

// expire lets go of what need not be kept any longer: packets that all taps
// have seen after a short while, the others at the end of the window.
func (m *matcher) expire() {
	for which, keep := range [...]int64{int64(keepOthers), int64(keepIPID)} {
		q := &m.fresh[which]
		for q.n > 0 {
			u := q.front()
			if m.alive(u) {
				e := m.entry(u.slot)
				if m.now-e.first <= keep {
					break
				}
				m.settle(u)
			}
			q.pop()
		}
	}
	for m.waiting.n > 0 {
		u := m.waiting.front()
		if m.alive(u) {
			if m.now-m.entry(u.slot).first <= m.window {
				break
			}
			m.retire(u.slot)
		}
		m.waiting.pop()
	}
	m.finishTries(m.now - m.window - 2*int64(keepIPID))
}

// settle moves an entry on that is no longer fresh.
func (m *matcher) settle(u slotUse) {
	e := m.entry(u.slot)
	if e.seen == m.full[m.plan.flows[e.flow].path] {
		m.retire(u.slot)
		return
	}
	m.waiting.push(u)
}

// slot is a free one. Where there is none, the packet that has waited longest
// goes.
func (m *matcher) slot() int32 {
	if len(m.freed) == 0 && m.made >= m.most {
		m.makeRoom()
	}
	if n := len(m.freed); n > 0 {
		i := m.freed[n-1]
		m.freed = m.freed[:n-1]
		m.used++
		return i
	}
	if m.made == len(m.chunks)<<chunkBits {
		m.chunks = append(m.chunks, &chunk{sights: make([]sighting, m.n<<chunkBits)})
	}
	m.made++
	m.used++
	if m.used > len(m.table) {
		m.rehash()
	}
	return int32(m.made - 1)
}

func (m *matcher) rehash() {
	m.table = make([]int32, 2*len(m.table))
	for i := range m.table {
		m.table[i] = -1
	}
	for i := range int32(m.made - 1) {
		if m.entry(i).used {
			m.link(i)
		}
	}
}

// link puts an entry into the table.
func (m *matcher) link(i int32) {
	e := m.entry(i)
	at := m.bucket(e.flow, e.id.psn())
	e.prev, e.next = -1, *at
	if *at >= 0 {
		m.entry(*at).prev = i
	}
	*at = i
}

// makeRoom lets the packet go that has waited longest.
func (m *matcher) makeRoom() {
	for _, q := range []*ring{&m.waiting, &m.fresh[1], &m.fresh[0]} {
		for q.n > 0 {
			u := q.front()
			q.pop()
			if !m.alive(u) {
				continue
			}
			e := m.entry(u.slot)
			if e.seen != m.full[m.plan.flows[e.flow].path] {
				m.shortened++
				m.least = min(m.least, m.now-e.first)
			}
			m.retire(u.slot)
			return
		}
	}
}

// free takes an entry out.
func (m *matcher) free(i int32) {
	e := m.entry(i)
	if e.next >= 0 {
		m.entry(e.next).prev = e.prev
	}
	if e.prev >= 0 {
		m.entry(e.prev).next = e.next
	} else {
		*m.bucket(e.flow, e.id.psn()) = e.next
	}
	e.used = false
	m.freed = append(m.freed, i)
	m.used--
}
