package storetest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/storage/schema"
)

// DaySize is how much there is in a day that answers are timed on. The day is
// that which begins at Day.
type DaySize struct{ Rows, Flows, Sessions, Pauses, Events, Findings, Stats int }

// FullDay is the day of the benchmarks.
var FullDay = DaySize{Rows: 10_000_000, Flows: 10_000, Sessions: 200_000, Pauses: 1_000_000, Events: 1_000_000, Findings: 10_000, Stats: 100_000}

// Burst is for how many intervals of a second a flow of the day is active at a
// time.
const Burst = 20

// Scaled is a day with one to n of everything.
func (d DaySize) Scaled(n int) DaySize {
	return DaySize{Rows: d.Rows / n, Flows: d.Flows / n, Sessions: d.Sessions / n, Pauses: d.Pauses / n, Events: d.Events / n, Findings: d.Findings / n, Stats: d.Stats / n}
}

// SessionID is an expression for the id of a session of the day, by its place among all.
func SessionID(number string) string { return "'v2/' || hex(cityHash64(" + number + "))" }

// FlowID is an expression for the number of a flow, by its place among all.
func FlowID(number string) string { return "cityHash64(toUInt64(" + number + "))" }

// Where all of the day was captured.
var (
	dayPlace = [][2]string{{"probe", "'leaf-1'"}, {"run", "'0123456789abcdef0123456789abcdef'"}, {"tap", "'mirror0'"}}
	dayBegin = strconv.FormatInt(Day/1e9, 10)
)

// Fill fills empty tables with the day, by statements alone.
func (d DaySize) Fill(o *schema.Options, exec func(sql string) error) error {
	if d.Rows/(d.Flows*Burst) < 24 {
		return fmt.Errorf("%d rows are too few for a day of %d flows", d.Rows, d.Flows)
	}
	for _, f := range d.fills() {
		if err := f.run(o, exec); err != nil {
			return fmt.Errorf("%s: %w", f.table.Name, err)
		}
	}
	return nil
}

// fill is what one table gets: expressions for columns over a row's number, and names
// for parts of them.
type fill struct {
	table   *schema.Table
	rows    int
	with    string
	columns [][2]string
}

func (f *fill) run(o *schema.Options, exec func(sql string) error) error {
	var names, values []string
	for _, c := range slices.Concat(dayPlace, f.columns) {
		names, values = append(names, schema.Quote(c[0])), append(values, c[1]+" AS "+schema.Quote(c[0]))
	}
	const piece = 1_000_000 // no statement takes minutes
	for from := 0; from < f.rows; from += piece {
		err := exec("INSERT INTO " + o.Name(f.table) + " (" + strings.Join(names, ", ") + ")\nWITH " + f.with + "\nSELECT " + strings.Join(values, ",\n    ") +
			"\nFROM numbers(" + strconv.Itoa(from) + ", " + strconv.Itoa(min(piece, f.rows-from)) + ") SETTINGS max_insert_threads = 1, max_threads = 1")
		if err != nil {
			return err
		}
	}
	return nil
}

// evenly is an expression for times that are spread evenly over the day.
func evenly(rows int) string {
	return "fromUnixTimestamp64Nano(" + dayBegin + " * 1000000000 + number * " + strconv.Itoa(86_400_000_000_000/rows) + ", 'UTC')"
}

func (d DaySize) fills() []fill {
	n := strconv.Itoa
	all := []fill{
		{schema.FlowIntervals().Table, d.slots() * d.Flows * Burst, d.flowsWith(), flowColumns()},
		{schema.PauseIntervals().Table, d.Pauses, "cityHash64(number) AS h, h % 64 AS port", [][2]string{
			{"time", evenly(d.Pauses)},
			{"interface", "'swp' || toString(port)"}, {"src_mac", "'02:01:00:00:00:' || lower(hex(toUInt8(port)))"}, {"type", "'pfc'"}, {"priority", "3 + port % 2"},
			{"paused_ns", "1000 + h % 100000"}, {"frames", "1 + h % 3"}, {"quanta", "65535"}, {"end", "'xon'"}, {"storm", "port = 7"},
		}},
		{schema.Sessions().Table, d.Sessions, "cityHash64(number) AS h, intDiv(number * 86400000, " + n(d.Sessions) + ") * 1000000 AS begin, 2 * (number % " + n(d.Flows/2) + ") AS f", [][2]string{
			{"updated", "last"}, {"final", "true"}, {"session", SessionID("number")}, {"version", "'v2'"}, {"service", "'RC'"}, {"vni", "-1"}, {"application", "if(f % 8, 'nvme-rdma', '')"},
			{"a_addr", "toIPv6('10.0.' || toString(intDiv(h, 200) % 50) || '.' || toString(h % 200))"}, {"a_qpn", "256 + 2 * number"}, {"a_flow", FlowID("f")},
			{"b_addr", "toIPv6('10.1.' || toString(intDiv(h, 200) % 50) || '.' || toString(h % 199))"}, {"b_qpn", "257 + 2 * number"}, {"b_flow", FlowID("f + 1")},
			{"first", "fromUnixTimestamp64Nano(" + dayBegin + " * 1000000000 + begin, 'UTC')"}, {"last", "first + toIntervalSecond(60)"}, {"a_packets", "h % 100000"}, {"b_packets", "h % 5000"},
		}},
		{schema.Events().Table, d.Events, "cityHash64(number) AS h", [][2]string{
			{"time", evenly(d.Events)},
			{"kind", "['nak', 'try', 'episode', 'cnp', 'ce', 'storm'][h % 6 + 1]"}, {"session", "if(kind = 'storm', '', " + SessionID("intDiv(number * "+n(d.Sessions)+", "+n(d.Events)+")") + ")"},
			{"interface", "if(kind = 'storm', 'swp7', '')"}, {"count", "1"}, {"psn", "h % 16777216"}, {"psn_last", "psn"},
			{"words", "if(kind = 'storm', map('src_mac', '02:01:00:00:00:07', 'type', 'pfc', 'priorities', '4'), map())"},
		}},
	}
	if d.Findings > 0 {
		all = append(all, fill{schema.Findings().Table, d.Findings, "cityHash64(number) AS h", [][2]string{
			{"time", evenly(d.Findings)}, {"until", "time + toIntervalMinute(1)"}, {"severity", "['info', 'warning', 'critical'][h % 3 + 1]"},
			{"code", "['go-back-n', 'lost-before-tap', 'pfc-storm', 'pause-tree', 'rnr'][h % 5 + 1]"}, {"title", "'finding ' || toString(number)"}, {"detail", "repeat('what it means and what to check next. ', 10)"},
			{"evidence", "'{}'"}, {"related", "'[]'"}, {"sessions", "arrayMap(i -> " + SessionID("intDiv(number * "+n(d.Sessions)+", "+n(d.Findings)+") + i") + ", range(20))"},
		}})
	}
	if d.Stats > 0 {
		all = append(all, fill{schema.ProbeStats().Table, d.Stats, "number % 20 AS counter", [][2]string{
			{"time", evenly(d.Stats)}, {"name", "'counter_' || toString(counter)"}, {"of", "''"}, {"value", "number"},
		}})
	}
	return all
}

// slots is how many bursts each flow has in the day.
func (d DaySize) slots() int { return d.Rows / (d.Flows * Burst) }

func (d DaySize) flowsWith() string {
	n := strconv.Itoa
	return n(d.Flows*Burst) + " AS inSlot, 86400 / " + n(d.slots()) + " AS slotLength, intDiv(number, inSlot) AS slot, intDiv(number % inSlot, " + n(Burst) + ") AS f, " +
		"toUInt64(slot * slotLength + cityHash64(f, slot) % toUInt64(slotLength - " + n(Burst) + ") + number % " + n(Burst) + ") AS second, " +
		"cityHash64(number) AS h, " + FlowID("f") + " AS hf, 50 + hf % 5000 + h % 500 AS n, bitShiftRight(h, 20) % 20 = 0 AS bad, bitShiftRight(h, 30) % 10 = 0 AS congested"
}

func flowColumns() [][2]string {
	buckets := func(from string, count string) string {
		return "mapFromArrays(arrayMap(i -> toUInt16(" + from + " + i), range(" + count + ")), arrayMap(i -> toUInt64(1 + bitAnd(bitShiftRight(h, 3 * i), 7)), range(" + count + ")))"
	}
	return [][2]string{
		{"time", "fromUnixTimestamp64Nano((" + dayBegin + " + second) * 1000000000, 'UTC')"}, {"length_ns", "1000000000"},
		{"flow", "hf"}, {"version", "'v2'"}, {"service", "'RC'"}, {"packets", "n"},
		{"flow_start", "fromUnixTimestamp64Nano(" + dayBegin + " * 1000000000 + f * 1000000, 'UTC')"},
		{"src", "toIPv6('10.0.' || toString(intDiv(f, 200) % 50) || '.' || toString(f % 200))"},
		{"dst", "toIPv6('10.1.' || toString(intDiv(f, 200) % 50) || '.' || toString(f % 199))"},
		{"src_qpn", "257 + f"}, {"dst_qpn", "256 + f"}, {"vni", "-1"}, {"incarnation", "1"}, {"pairing", "'ack'"}, {"application", "'nvme-rdma'"},
		{"interface", "if(f % 2, 'swp1', 'swp2')"}, {"src_mac", "'02:00:00:00:00:' || lower(hex(toUInt8(f % 200)))"}, {"dst_mac", "'02:01:00:00:00:' || lower(hex(toUInt8(f % 199)))"},
		{"src_port", "49152 + f % 16384"}, {"dscp", "[26, 26, 26, 46][f % 4 + 1]"}, {"priority", "3"},
		{"wire_bytes", "n * 1114"}, {"payload_bytes", "n * 1024"}, {"goodput_bytes", "n * 1024"},
		{"ect0", "n - if(congested, intDiv(n, 50), 0)"}, {"ce", "if(congested, intDiv(n, 50), 0)"}, {"acks", "intDiv(n, 16)"},
		{"writes", "intDiv(n, 64)"}, {"messages_completed", "intDiv(n, 64)"},
		{"retransmitted_packets", "if(bad, 8 + h % 24, 0)"}, {"retransmitted_bytes", "retransmitted_packets * 1024"}, {"tries", "bad"}, {"lost_before_tap", "if(bad, 1 + h % 3, 0)"},
		{"cnps_received", "if(congested, 1 + intDiv(n, 400), 0)"}, {"peak_packets", "128"}, {"peak_bytes", "131072"},
		{"rare", "if(bad, map('fills', toInt64(8), 'tries_nak', 1, 'episodes', 1), map())"},
		{"ack_latency", buckets("72 + hf % 48", "12")}, {"write_latency", buckets("96 + hf % 48", "9")},
		{"np_delay", buckets("101", "if(congested, 6, 0)")},
	}
}
