package track

// pools keep what intervals take, for those that come.
type pools struct {
	intervals pool[interval]
	odd       pool[oddTotals]
	classes   pool[classes]
	latencies pool[intervalLatencies]
	lags      pool[intervalLags]
}

// pool gives values that were given back, and new ones where there are none.
type pool[T any] struct {
	free []*T
	slab slab[T]
}

func (p *pool[T]) get() *T {
	last := len(p.free) - 1
	if last < 0 {
		return p.slab.get()
	}
	v := p.free[last]
	p.free = p.free[:last]
	return v
}

func (p *pool[T]) put(v *T) { p.free = append(p.free, v) }

// put takes back an interval and all that it has.
func (p *pools) put(iv *interval) {
	if iv.oddBefore != nil {
		p.odd.put(iv.oddBefore)
	}
	if iv.classesBefore != nil {
		p.classes.put(iv.classesBefore)
	}
	if l := iv.lat; l != nil {
		l.ack.Reset()
		for k := range l.kinds {
			l.kinds[k].Reset()
		}
		p.latencies.put(l)
	}
	if l := iv.lags; l != nil {
		for _, h := range l.all() {
			h.Reset()
		}
		p.lags.put(l)
	}
	*iv = interval{}
	p.intervals.put(iv)
}
