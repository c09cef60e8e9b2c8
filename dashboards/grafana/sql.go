package grafana

import (
	"fmt"
	"strings"
	"time"

	"github.com/rocelens/rocelens/storage/query"
	"github.com/rocelens/rocelens/storage/schema"
)

// tables are where the tables are: a variable of the boards names the database.
func tables() *schema.Options {
	o := schema.DefaultOptions()
	o.Database = "${database}"
	return &o
}

// The time of the board, as the plugin's macros have it. Minutes are read as a
// whole.
const (
	from       = "toDateTime64($__fromTime_ms, 9, 'UTC')"
	to         = "toDateTime64($__toTime_ms, 9, 'UTC')"
	fromMinute = "toStartOfMinute(toDateTime($__fromTime, 'UTC'))"
	toMinute   = "(toStartOfMinute(toDateTime($__toTime, 'UTC')) + 60)"
)

// anyTime stands for the time of the board in questions of package query.
var anyTime = query.Range{From: time.Unix(0, 0), To: time.Unix(60, 0)}

var anywhere = query.Where{Filter: true}

type question interface {
	Statement(o *schema.Options) (*query.Statement, error)
}

// ask is the statement of a question of package query, with a filter and the
// time of the board in it.
func ask(q question, filter string, with ...string) string {
	st, err := q.Statement(tables())
	if err != nil {
		panic(err) // of what is written in this package
	}
	macros := map[string]string{"from": from, "to": to, "filter": filter}
	if strings.HasPrefix(st.Table, "flow_1m") {
		macros["from"], macros["to"] = fromMinute, toMinute
	}
	for i := 0; i < len(with); i += 2 {
		macros[with[i]] = with[i+1]
	}
	text, err := st.Expand(macros)
	if err != nil {
		panic(err)
	}
	return text
}

// during are the conditions for rows of a table, which SQL calls s, in the time
// of the board. What the table is sorted by is bounded too.
func during(t *schema.Table, from, to string) string {
	hour := func(time string) string { return strings.Replace(t.Order[0], "time", time, 1) }
	return fmt.Sprintf("s.time >= %s AND %s >= %s AND s.time < %s AND %s <= %s", from, hour("s.time"), hour(from), to, hour("s.time"), hour(to))
}

// minutes is the table of flows by minute.
func minutes() *schema.Table { return schema.Rollups(schema.FlowIntervals().Table)[0] }

// only is a condition that holds where a variable of the board has the value All.
func only(variable, condition string) string {
	return "$__conditionalAll(" + condition + ", $" + variable + ")"
}

// The filters of the boards.
var (
	ofPlace = only("probe", "probe IN (${probe:singlequote})") + " AND " + only("tap", "tap IN (${tap:singlequote})")
	// Findings about several taps have none.
	ofFinding   = only("probe", "probe IN (${probe:singlequote})") + " AND " + only("tap", "(tap = '' OR tap IN (${tap:singlequote}))")
	ofPriority  = only("priority", "if(s.priority < 0, 'none', toString(s.priority)) IN (${priority:singlequote})")
	ofFlow      = ofPlace + " AND " + ofPriority + " AND " + ofHost + " AND " + ofApplication
	ofHost      = only("host", "hasAny(array(s.src, s.dst), arrayMap(a -> toIPv6(a), array(${host:singlequote})))")
	application = "if(application = '', 'unknown', application)"
	// Minutes don't say the application, sessions do.
	ofApplication = only("application", "s.flow GLOBAL IN (SELECT arrayJoin(array(a_flow, b_flow)) FROM "+tables().Name(schema.Sessions().Table)+
		" WHERE "+application+" IN (${application:singlequote}))")
)

// address is an expression for an address as people write it.
func address(column string) string {
	return `replaceRegexpOne(toString(` + column + `), '^::ffff:([0-9.]+)$', '\\1')`
}

// numbered is an expression for a QPN as text. The tables have 0 for one that is not known, which is ?
// in ids too: a QP 0 that is one has only the service UD.
func numbered(column string) string { return ifKnown(column, "toString("+column+")") }

// inHex is one as ids have it.
func inHex(column string) string {
	return ifKnown(column, "concat('0x', replaceRegexpOne(lower(hex("+column+")), '^0(.)', '\\\\1'))")
}

func ifKnown(column, text string) string {
	return "if(" + column + " = 0 AND service != 'UD', '?', " + text + ")"
}
