package grafana

import "fmt"

// Labels that the variables of a board choose. Metrics of flow control have the
// priority all where everything is stopped; those of the probe itself have none.
const (
	ofFlows  = `{instance=~"$instance",priority=~"$priority"}`
	ofPauses = `{instance=~"$instance",priority=~"$priority|all"}`
	ofProbe  = `{instance=~"$instance"}`
)

// What interfaces are told apart by: two monitors may have one of the same name.
const (
	byInterface = "instance, interface"
	byPriority  = byInterface + ", priority"
)

// rate is the sum a second of a counter, by labels or in all.
func rate(counter, labels, by string) string {
	return summed("rate("+counter+labels+"[$__rate_interval])", by)
}

// risen is how much a counter rose in the time of the board.
func risen(counter, labels string) string {
	return "sum(increase(" + counter + labels + "[$__range]))"
}

// worstOf is the highest value that an expression had in the time of the board.
func worstOf(expr string) string { return "max_over_time(" + expr + "[$__range:$__interval])" }

func summed(what, by string) string {
	if by == "" {
		return "sum(" + what + ")"
	}
	return "sum by (" + by + ") (" + what + ")"
}

// share is one rate as a part of another. It has no value where there is
// nothing to be a part of.
func share(part, of string) string { return part + " / (" + of + " > 0)" }

// quantile is that of a histogram in seconds in each step, by its classic buckets or else by
// its native ones: which are there is for who scrapes to say. quantileOfAll is that of the time of the board.
func quantile(q float64, histogram string) string {
	return quantileIn("$__rate_interval", q, histogram)
}

func quantileOfAll(q float64, histogram string) string { return quantileIn("$__range", q, histogram) }

func quantileIn(window string, q float64, histogram string) string {
	return fmt.Sprintf("histogram_quantile(%v, sum by (le) (rate(%s_bucket%s[%s]))) or histogram_quantile(%v, sum(rate(%s%s[%s])))",
		q, histogram, ofFlows, window, q, histogram, ofFlows, window)
}
