package grafana_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/storage/schema"
)

// The day that costs are measured on: how many rows of each table it has.
const (
	dayFlows    = 200_000
	dayPauses   = 100_000
	dayEvents   = 100_000
	daySessions = 20_000
)

var aliases = regexp.MustCompile(` AS (\w+)`)

// fillDay fills the tables with a day that begins at begin.
func (l *lab) fillDay(t *testing.T, begin time.Time) {
	t.Helper()
	at := func(rows int) string { // evenly over the day
		return "fromUnixTimestamp64Nano(" + strconv.FormatInt(begin.Unix(), 10) + "000000000 + toInt64(number * " + strconv.FormatInt(int64(24*time.Hour)/int64(rows), 10) + "), 'UTC')"
	}
	for _, f := range []struct {
		table   *schema.Table
		rows    int
		columns string
	}{
		{schema.FlowIntervals().Table, dayFlows, `'p' AS probe, 'r' AS run, 'mirror0' AS tap, ` + at(dayFlows) + ` AS time, 1000000000 AS length_ns, cityHash64(number % 2000) AS flow, 'RC' AS service,
			toIPv6('10.0.0.' || toString(number % 200)) AS src, toIPv6('10.0.1.' || toString(number % 199)) AS dst, number % 2000 AS dst_qpn, '02:01:00:00:00:01' AS dst_mac, 26 AS dscp, 3 AS priority,
			100 AS packets, 100000 AS wire_bytes, 1 AS ce, number % 10 AS retransmitted_packets, number % 3 AS lost_before_tap, map(80 + number % 40, 7) AS ack_latency, map(101, 6) AS np_delay`},
		{schema.PauseIntervals().Table, dayPauses, `'p' AS probe, 'r' AS run, 'mirror0' AS tap, ` + at(dayPauses) + ` AS time, 'swp1' AS interface, '02:01:00:00:00:0' || toString(number % 8) AS src_mac, 'pfc' AS type,
			3 AS priority, 5000000 AS paused_ns, 2 AS frames, number % 100 = 0 AS storm`},
		{schema.Events().Table, dayEvents, `'p' AS probe, 'r' AS run, 'mirror0' AS tap, ` + at(dayEvents) + ` AS time, ['nak', 'try', 'storm'][number % 3 + 1] AS kind, 's' || toString(number % 20000) AS session, 1 AS count`},
		{schema.Sessions().Table, daySessions, `'p' AS probe, 'r' AS run, 'mirror0' AS tap, ` + at(daySessions) + ` AS first, first + toIntervalMinute(30) AS last, last AS updated, 's' || toString(number) AS session,
			toIPv6('10.0.0.' || toString(number % 200)) AS a_addr, number AS a_qpn, cityHash64(number % 2000) AS a_flow, cityHash64(number % 2000 + 1) AS b_flow`},
	} {
		columns := aliases.FindAllStringSubmatch(f.columns, -1)
		list := make([]string, len(columns))
		for i, c := range columns {
			list[i] = c[1]
		}
		l.exec(t, "INSERT INTO "+l.store.Options.Name(f.table)+" ("+strings.Join(list, ", ")+") SELECT "+f.columns+" FROM numbers("+strconv.Itoa(f.rows)+")")
	}
}

// cost: no query about an hour reads much more than that hour of the day.
func (l *lab) cost(t *testing.T, queries map[string]asked, names []string) {
	begin := time.Date(2026, 1, 7, 0, 0, 0, 0, time.UTC)
	l.fillDay(t, begin)
	s := &screen{
		from: begin.Add(13 * time.Hour), to: begin.Add(14 * time.Hour), interval: 2 * time.Second,
		variables: map[string][]string{"database": {"rocelens"}, "find": {""}, "session": {"s11000"}},
	}
	const granules = 2 * 8192 // of the index, at the ends of the hour
	answered := 0
	for _, name := range names {
		a := l.ask(t, s.sql(t, queries[name].text))
		// Sessions are found by their columns and not by time: there are few of them.
		if most := uint64(dayFlows/24 + dayPauses/24 + daySessions + granules); a.Statistics.RowsRead > most {
			t.Errorf("%s reads %d rows, and should read %d at most", name, a.Statistics.RowsRead, most)
		}
		if len(a.Data) > 0 {
			answered++
		}
	}
	if answered < len(names)/2 {
		t.Errorf("of %d queries only %d had anything to read", len(names), answered)
	}
}
