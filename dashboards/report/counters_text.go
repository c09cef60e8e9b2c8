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
	var names, says []string
	width := 0
	for i := range t.Hosts {
		h := &t.Hosts[i]
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
		if len(all) == 0 {
			continue
		}
		name := string(h.Addr.Append(nil, h.Kind))
		if len(names) < maxHosts {
			width = max(width, columnsWidth(name))
		}
		names, says = append(names, name), append(says, strings.Join(all, ", "))
	}
	if len(names) == 0 {
		return
	}
	t.b.WriteByte('\n')
	t.row("NIC counters", "what the hosts' own counters should show for this traffic (mlx5's names; JSON has Soft-RoCE's too)")
	for i := range names[:min(len(names), maxHosts)] {
		t.b.WriteString(wrap("  "+padRight(names[i], width+2), says[i], t.opt.Width))
	}
	if n := len(names) - maxHosts; n > 0 {
		t.b.WriteString("  and " + plural(uint64(n), "more host") + "\n")
	}
}
