package scenario

import "time"

// Stations of the scenarios of flow control.
const (
	hostA = iota
	switchA
	switchB
	hostB
	hostC
	switchC
)

const gbit = 1_000_000_000

func pauseScenarios() []Scenario {
	one := pauseLink{name: "port1", speed: 100 * gbit, ends: [2]int{hostA, switchA}}
	traffic := source{from: hostA, priority: 3, dscp: 26, every: 10 * us}
	other := source{from: hostA, priority: 0, every: 40 * us}
	// Frames that stop come again before their time of 335 us is up.
	held := hold{from: switchA, priorities: []int{3}, start: 5 * ms, quanta: 65535, refresh: 250 * us}
	with := func(h hold, change func(*hold)) hold {
		change(&h)
		return h
	}
	toggled := with(held, func(h *hold) { h.length, h.times, h.every, h.refresh = 30*us, 200, 100*us, 0 })
	storm := with(held, func(h *hold) { h.length, h.storm = 500*ms, true })
	return []Scenario{
		{Name: "pfc_toggle", About: "PFC stops priority 3 for 30 us, 200 times; priority 0 goes on", pauses: &pauses{
			links: []pauseLink{one}, sources: []source{traffic, other}, holds: []hold{toggled}, length: 40 * ms,
		}},
		{Name: "pfc_expiry", About: "PFC that nothing ends but its time, said again in the meantime or once", pauses: &pauses{
			links: []pauseLink{one}, sources: []source{traffic, other}, length: 40 * ms, holds: []hold{
				with(held, func(h *hold) { h.length, h.refresh, h.quanta, h.expire = 50*us, 4*us, 1000, true }),
				with(held, func(h *hold) {
					h.start, h.length, h.refresh, h.expire, h.times, h.every = 10*ms, 1, 0, true, 20, time.Millisecond
				}),
			},
		}},
		{Name: "pfc_priorities", About: "PFC of three priorities from both ends of a link, and 802.3x PAUSE on another, of 40 Gbit/s", pauses: &pauses{
			links: []pauseLink{one, {name: "port2", speed: 40 * gbit, ends: [2]int{hostB, switchA}}}, length: 40 * ms,
			sources: []source{traffic, other, {link: 1, from: hostB, priority: 3, dscp: 26, untagged: true, every: 20 * us}},
			holds: []hold{
				with(toggled, func(h *hold) { h.priorities = []int{3, 4} }),
				with(toggled, func(h *hold) { h.from, h.priorities, h.start, h.quanta = hostA, []int{4, 7}, 6*ms, 2000 }),
				{link: 1, from: switchA, global: true, start: 3 * ms, length: 100 * us, quanta: 20_000, times: 30, every: time.Millisecond},
			},
		}},
		{Name: "pfc_no_speed", About: "as pfc_toggle, and the file does not say how fast the link is", pauses: &pauses{
			links: []pauseLink{linkWith(one, func(l *pauseLink) { l.quiet = true })}, sources: []source{traffic}, holds: []hold{toggled}, length: 40 * ms,
		}},
		{Name: "pfc_untagged", About: "as pfc_toggle, of packets without a VLAN tag: DSCP 26 has priority 3", pauses: &pauses{
			links: []pauseLink{one}, sources: []source{sourceWith(traffic, func(s *source) { s.untagged = true })}, holds: []hold{toggled}, length: 40 * ms,
		}},
		{Name: "pfc_storm", About: "PFC keeps priorities 3 and 4 paused for half a second", pauses: &pauses{
			links: []pauseLink{one}, length: 1000 * ms, holds: []hold{with(storm, func(h *hold) { h.start, h.priorities = 200*ms, []int{3, 4} })},
			sources: []source{
				sourceWith(traffic, func(s *source) { s.every = 200 * us }), sourceWith(other, func(s *source) { s.every = 400 * us }),
			},
		}},
		{Name: "pfc_storm_open", About: "a NIC keeps priority 3 of its switch paused until the capture ends", pauses: &pauses{
			links: []pauseLink{one}, length: 600 * ms,
			holds:   []hold{with(storm, func(h *hold) { h.from, h.start, h.length = hostA, 100*ms, 1000*ms })},
			sources: []source{sourceWith(traffic, func(s *source) { s.from, s.every = switchA, 200*us })},
		}},
		{Name: "pfc_deaf", About: "a host goes on sending priority 3 while it is paused", pauses: &pauses{
			links: []pauseLink{one}, length: 40 * ms, sources: []source{sourceWith(traffic, func(s *source) { s.deaf = true }), other},
			holds: []hold{with(held, func(h *hold) { h.length, h.times, h.every = 500*us, 10, 2*ms })},
		}},
		{Name: "pfc_tree", About: "a receiver pauses its switch, which pauses the next one, which pauses two hosts; a tap in each link", pauses: tree()},
		{Name: "pfc_cycle", About: "three switches in a ring, each paused by the next one for half a second; a tap in each link", pauses: cycle()},
	}
}

func linkWith(l pauseLink, change func(*pauseLink)) pauseLink { change(&l); return l }
func sourceWith(s source, change func(*source)) source        { change(&s); return s }

// tree has hostA as the receiver that can't keep up.
func tree() *pauses {
	p := &pauses{length: 60 * ms, links: []pauseLink{
		{name: "leaf-host", speed: 100 * gbit, ends: [2]int{hostA, switchA}},
		{name: "leaf-spine", speed: 400 * gbit, ends: [2]int{switchA, switchB}},
		{name: "spine-b", speed: 100 * gbit, ends: [2]int{switchB, hostB}},
		{name: "spine-c", speed: 100 * gbit, ends: [2]int{switchB, hostC}},
	}}
	for i, l := range p.links {
		p.sources = append(p.sources, source{link: i, from: l.ends[1], priority: 3, dscp: 26, every: 20 * us})
		from := l.ends[0]
		later := time.Duration(min(i, 2)) * 50 * us
		p.holds = append(p.holds, hold{link: i, from: from, priorities: []int{3}, start: 5*ms + later, length: 200 * us, quanta: 65535, refresh: 40 * us, times: 20, every: 2 * ms})
	}
	p.spreads = [][2]int{{0, 1}, {1, 2}, {1, 3}}
	return p
}

func cycle() *pauses {
	p := &pauses{length: 800 * ms, links: []pauseLink{
		{name: "a-b", speed: 100 * gbit, ends: [2]int{switchA, switchB}},
		{name: "b-c", speed: 100 * gbit, ends: [2]int{switchB, switchC}},
		{name: "c-a", speed: 100 * gbit, ends: [2]int{switchC, switchA}},
	}}
	for i, l := range p.links {
		p.sources = append(p.sources, source{link: i, from: l.ends[1], priority: 3, dscp: 26, every: 200 * us})
		p.holds = append(p.holds, hold{
			link: i, from: l.ends[0], priorities: []int{3}, start: 100*ms + time.Duration(i)*50*us, length: 500 * ms, quanta: 65535, refresh: 250 * us, storm: true,
		})
	}
	p.spreads = [][2]int{{0, 1}, {1, 2}}
	return p
}
