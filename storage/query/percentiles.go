package query

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rocelens/rocelens/storage/schema"
)

// Group is what a question's rows are of.
type Group uint8

// The groups.
const (
	Ungrouped Group = iota // a single row
	PerDSCP
	PerPriority
	PerService
	PerProbe
	PerRun
	PerTap // of a probe
)

// GroupNames are the names of the groups, by number.
func GroupNames() []string {
	return []string{"none", "dscp", "priority", "service", "probe", "run", "tap"}
}

func (g Group) String() string { return nameOf(GroupNames(), g) }

// ParseGroup is the group of a name.
func ParseGroup(s string) (Group, error) { return parseName[Group]("group", GroupNames(), s) }

// key is the expression that is the name of a row's group.
func (g Group) key() (string, error) {
	switch g {
	case Ungrouped:
		return "''", nil
	case PerTap:
		return "concat(probe, ' ', tap)", nil
	}
	if int(g) >= len(GroupNames()) {
		return "", fmt.Errorf("there is no group %d", g)
	}
	return "toString(" + g.String() + ")", nil
}

// Percentiles asks how the durations of flows are spread.
type Percentiles struct {
	Range
	Where
	Source Source
	Flow   uint64 // 0 for all
	By     Group
	// Of names the histograms, the columns of flow_intervals that are durations;
	// none stands for all of them.
	Of    []string
	Limit int
}

// Percentile is one distribution.
type Percentile struct {
	Group string `json:"group"` // as in the question, "" with Ungrouped
	Of    string `json:"of"`
	Distribution
}

// Lag are the histograms of how long it takes until congestion has slowed a
// sender down, and until that is over.
func Lag() []string { return []string{"np_delay", "mark_wait", "cnp_to_slow", "slow_to_recover"} }

// Histograms are all columns of durations.
func Histograms() []string {
	var all []string
	for _, c := range schema.FlowIntervals().Table.Columns {
		if strings.HasPrefix(c.Type, "Map(UInt16") {
			all = append(all, c.Name)
		}
	}
	return all
}

// LagByDSCP asks for the ECN lag of each DSCP.
func LagByDSCP(r Range, w Where) Percentiles {
	return Percentiles{Range: r, Where: w, By: PerDSCP, Of: Lag()}
}

// Statement is the SQL of the question.
func (q Percentiles) Statement(o *schema.Options) (*Statement, error) {
	var b builder
	from, err := b.flows(o, q.Source, q.Range)
	if err != nil {
		return nil, err
	}
	b.place(q.Where)
	if q.Flow != 0 {
		b.and("flow = " + b.number("flow", "UInt64", q.Flow))
	}
	key, err := q.By.key()
	if err != nil {
		return nil, err
	}
	of, known := q.Of, Histograms()
	if len(of) == 0 {
		of = known
	}
	var each []string
	for _, name := range of {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no histogram %q: use %s", name, strings.Join(known, ", "))
		}
		each = append(each, "(toUInt8("+fmt.Sprint(len(each))+"), '"+name+"', sum(arraySum(mapValues("+name+"))), "+merged(name)+")")
	}
	return b.limited(`SELECT group, d.2 AS of, d.3 AS count, d.4[1] AS p50, d.4[2] AS p99, d.4[3] AS p999
FROM
(
    SELECT `+key+` AS group,
        [`+strings.Join(each, ",\n            ")+`] AS all
    FROM `+from+b.conditions()+`
    GROUP BY group
)
ARRAY JOIN all AS d
WHERE count > 0
ORDER BY length(group), group, d.1`, q.Limit, defaultLimit)
}

// Percentiles answers the question.
func (s *Store) Percentiles(ctx context.Context, q Percentiles) (*Answer[Percentile], error) {
	return answer[Percentile](ctx, s, q)
}
