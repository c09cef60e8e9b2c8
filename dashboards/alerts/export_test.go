package alerts

// PrometheusOf makes rules of other groups than those of the table.
func PrometheusOf(groups []Group) ([]byte, error) { return prometheusRules(groups) }

// Inlined is an expression that needs no recording.
func (g *Group) Inlined(expr string) string { return g.inlined(expr) }

// Interval is how often rules are evaluated.
const Interval = interval
