package report

import (
	"strings"

	"github.com/rocelens/rocelens/pipeline/hwcounters"
)

// maxHosts bounds the hosts in the text; JSON has them all.
const maxHosts = 8

// counters writes what the NICs should have counted, of hosts where that is
// trouble.
func (t *text) counters() {
	var hosts []*hwcounters.Host
	for i := range t.Hosts {
		if t.Hosts[i].Trouble() {
			hosts = append(hosts, &t.Hosts[i])
		}
	}
	if len(hosts) == 0 {
		return
	}
	t.b.WriteByte('\n')
	t.row("NIC counters", "what the hosts' own counters should show for this traffic (mlx5's names; JSON has Soft-RoCE's too)")
	width := 0
	for _, h := range hosts[:min(len(hosts), maxHosts)] {
		width = max(width, columnsWidth(string(h.Addr.Append(nil, h.Kind))))
	}
	for _, h := range hosts[:min(len(hosts), maxHosts)] {
		var all []string
		for id, c := range hwcounters.Counters() {
			n := h.Counts[id]
			if n == 0 || !c.Trouble || c.MLX5 == "" {
				continue
			}
			s := c.MLX5
			if c.AtLeast {
				s += " at least"
			}
			all = append(all, s+glue+count(n))
		}
		t.b.WriteString(wrap("  "+padRight(string(h.Addr.Append(nil, h.Kind)), width+2), strings.Join(all, ", "), t.opt.Width))
	}
	if n := len(hosts) - maxHosts; n > 0 {
		t.b.WriteString("  and " + plural(uint64(n), "more host") + "\n")
	}
}
