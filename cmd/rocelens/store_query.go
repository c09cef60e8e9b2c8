package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rocelens/rocelens/dashboards/report"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/storage/dsn"
	"github.com/rocelens/rocelens/storage/query"
)

type storeQueryOptions struct {
	streams
	dsn      *dsn.DSN
	question *storeQuestion

	from, to string
	where    query.Where
	limit    int
	format   string
	timeout  time.Duration

	id, qp, addr string // which session
	session      string
	flow         string
	by, group    string
	minPackets   uint64
	step         time.Duration
	of           []string
	source       string
	kind         string
	severity     string
	all          bool
}

// storeQuestion is what can be asked.
type storeQuestion struct {
	name, short string
	flags       []string // besides those of every question
	always      bool     // without a time it is about all that there is
	ask         func(ctx context.Context, o *storeQueryOptions, s *query.Store, r query.Range) (reply, error)
}

// reply is an answer: itself for scripts, and a way to write it for people.
type reply struct {
	answer interface{ Empty() bool }
	text   func(w *strings.Builder)
}

// storeQuestions are the questions in the order of the help.
var storeQuestions = []storeQuestion{
	{"session", "sessions of a queue pair or host; of a single one, its events and findings", []string{"qp", "addr", "id"}, true, askSessions},
	{"flows", "the worst flows", []string{"by", "min-packets", "source"}, false, askFlows},
	{"flow", "what one flow did, step by step", []string{"flow", "step", "source"}, false, askFlow},
	{"storms", "which ports paused others for too long", []string{"all"}, false, askStorms},
	{"lag", "how long congestion takes to slow senders down, by DSCP", []string{"source"}, false, askLag},
	{"latency", "how latencies and other durations are spread", []string{"of", "group", "flow", "source"}, false, askLatency},
	{"totals", "sums over all flows", []string{"group", "source"}, true, askTotals},
	{"events", "what happened, in order", []string{"session", "kind"}, false, askEvents},
	{"findings", "what is wrong, the worst first", []string{"session", "severity"}, false, askFindings},
}

func questionNames() []string {
	var names []string
	for i := range storeQuestions {
		names = append(names, storeQuestions[i].name)
	}
	return names
}

func newStoreQuery(io streams) *cobra.Command {
	o := &storeQueryOptions{streams: io}
	var list strings.Builder
	for i := range storeQuestions {
		q := &storeQuestions[i]
		fmt.Fprintf(&list, "  %-9s %s\n            --%s\n", q.name, q.short, strings.Join(q.flags, ", --"))
	}
	cmd := &cobra.Command{
		Use:   "query DSN QUESTION",
		Short: "Ask a store what happened",
		Long: `query asks a store. The questions, and the flags that each has besides those of all:

` + list.String() + `
A question is about the last hour before the newest record (of --probe, --run and --tap),
unless --from says otherwise; session and totals are about all that there is. TIME is 14:03 (of the newest record's day),
"2026-01-31 14:03:05", an RFC 3339 time, -2h (before the newest record) or +10s (after the
oldest). Times without a zone are local.

DSN is as for store migrate. An embedded store must not be in use by another program: ask
a running one by http://, see docs/store.md.

Exit codes: 0 done; 1 wrong usage, or the store can't be asked.`,
		Example: `  rocelens store query embedded:/var/lib/rocelens session --qp 0x8c --addr 10.0.0.2
  rocelens store query embedded:/var/lib/rocelens flows --by lost --from 14:00 --to 15:00
  rocelens store query clickhouse://ch1 flow --flow 14976764751900702656 --from -168h
  rocelens store query --format json clickhouse://ch1 storms | jq .rows`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("store query needs the name of a store and a question: %s", strings.Join(questionNames(), ", "))
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return questionNames(), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.dsn, err = parseDSN(args[0]); err != nil {
				return err
			}
			if err := o.choose(args[1], cmd.Flags()); err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	o.addFlags(cmd.Flags())
	completeValues(cmd, "format", reportFormats)
	completeValues(cmd, "by", query.MeasureNames())
	completeValues(cmd, "group", query.GroupNames())
	completeValues(cmd, "source", query.SourceNames())
	completeValues(cmd, "severity", record.SeverityNames())
	completeValues(cmd, "of", query.Histograms())
	completeValues(cmd, "kind", eventKindNames())
	return cmd
}

func (o *storeQueryOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.from, "from", "", "only from `TIME` on")
	f.StringVar(&o.to, "to", "", "only up to `TIME`")
	f.StringVar(&o.where.Probe, "probe", "", "only what the probe `NAME` saw")
	f.StringVar(&o.where.Run, "run", "", "only what the run `ID` wrote")
	f.StringVar(&o.where.Tap, "tap", "", "only what was seen at the tap `NAME`: a file or an interface")
	f.IntVar(&o.limit, "limit", 0, "at most `N` rows (default: 20 flows, 100 sessions, else 1000 and more)")
	f.StringVar(&o.format, "format", "text", "`FORM`: text, or json for scripts")
	f.DurationVar(&o.timeout, "timeout", query.DefaultTimeout, "the longest that an answer may take, `DUR` as in 30s")

	f.StringVar(&o.qp, "qp", "", "`NUMBER` of the queue pair at either end, decimal or as 0x11")
	f.StringVar(&o.addr, "addr", "", "`ADDRESS` of the end that has it; alone, of either end")
	f.StringVar(&o.id, "id", "", "`ID` of the session")
	f.StringVar(&o.by, "by", query.ByRetransmitted.String(), "what flows are worst by, `MEASURE`: "+strings.Join(query.MeasureNames(), ", "))
	f.Uint64Var(&o.minPackets, "min-packets", 0, "only flows of `N` packets or more")
	f.StringVar(&o.flow, "flow", "", "`NUMBER` of a flow, as other questions give it")
	f.DurationVar(&o.step, "step", 0, "length of a step, `DUR` as in 10s (default: what suits the time)")
	f.StringSliceVar(&o.of, "of", nil, "which durations, `NAMES` with commas between (default all): "+strings.Join(query.Histograms(), ", "))
	f.StringVar(&o.group, "group", "", "a row for each `WHAT`: "+strings.Join(query.GroupNames(), ", "))
	f.StringVar(&o.source, "source", query.Auto.String(), "`TABLE` to read: "+strings.Join(query.SourceNames(), ", "))
	f.BoolVar(&o.all, "all", false, "all that paused, storm or not")
	f.StringVar(&o.session, "session", "", "only on the session `ID`")
	f.StringVar(&o.kind, "kind", "", "only events of `KIND`, see docs/events.md")
	f.StringVar(&o.severity, "severity", "", "only findings of `SEVERITY` or above: "+strings.Join(record.SeverityNames(), ", "))
}

func eventKindNames() []string {
	var names []string
	for _, k := range report.EventKinds() {
		names = append(names, string(k.Kind))
	}
	return names
}

// choose takes the question with a name, and refuses flags of others.
func (o *storeQueryOptions) choose(name string, flags *pflag.FlagSet) error {
	i := slices.IndexFunc(storeQuestions, func(q storeQuestion) bool { return q.name == name })
	if i < 0 {
		return fmt.Errorf("unknown question %q: use %s", name, strings.Join(questionNames(), ", "))
	}
	o.question = &storeQuestions[i]
	var err error
	flags.Visit(func(f *pflag.Flag) {
		var of []string
		for _, q := range storeQuestions {
			if slices.Contains(q.flags, f.Name) {
				of = append(of, q.name)
			}
		}
		if err == nil && len(of) > 0 && !slices.Contains(of, name) {
			err = fmt.Errorf("--%s is not for %s, but for %s", f.Name, name, strings.Join(of, ", "))
		}
	})
	return err
}

func (o *storeQueryOptions) run(ctx context.Context) error {
	if err := textOrJSON(o.format); err != nil {
		return err
	}
	if kinds := eventKindNames(); o.kind != "" && !slices.Contains(kinds, o.kind) {
		return fmt.Errorf("unknown --kind %q: use %s", o.kind, strings.Join(kinds, ", "))
	}
	from, err := parseTime(o.from, time.Local)
	if err != nil {
		return fmt.Errorf("--from: %w", err)
	}
	to, err := parseTime(o.to, time.Local)
	if err != nil {
		return fmt.Errorf("--to: %w", err)
	}
	return askStore(ctx, o.streams, o.dsn, "rocelens store query", o.timeout, func(s *query.Store) error {
		r, err := o.during(ctx, s, from, to)
		if err != nil {
			return err
		}
		got, err := o.question.ask(ctx, o, s, r)
		if err != nil {
			return err
		}
		if o.format == "json" {
			return writeJSON(o.out, got.answer)
		}
		var b strings.Builder
		got.text(&b)
		switch {
		case !got.answer.Empty() || from.given() || o.question.always:
		case !r.From.IsZero():
			b.WriteString("in the hour before the newest record; --from -24h asks about a day\n")
		case o.where != query.Where{}:
			b.WriteString("there are no records from there\n")
		}
		_, err = io.WriteString(o.out, b.String())
		return err
	})
}

// lastHour is what questions are about unless something else is said.
const lastHour = time.Hour

// during is the time of a question.
func (o *storeQueryOptions) during(ctx context.Context, s *query.Store, from, to timeSpec) (query.Range, error) {
	var r query.Range
	if o.question.always && !from.given() && !to.given() {
		return r, nil
	}
	span, err := s.Span(ctx, o.where)
	if err != nil {
		return r, err
	}
	first, newest := span.From.UnixNano(), span.To.UnixNano()
	resolve := func(t timeSpec) time.Time {
		if t.base == baseClock {
			return time.Unix(0, t.resolve(newest, newest, time.Local))
		}
		return time.Unix(0, t.resolve(first, newest, time.Local))
	}
	if to.given() {
		r.To = resolve(to)
	} else {
		r.To = span.To
	}
	switch {
	case from.given():
		r.From = resolve(from)
	case !r.To.IsZero() && !o.question.always:
		r.From = r.To.Add(-lastHour)
	}
	if !from.given() && !to.given() && span.To.IsZero() {
		return query.Range{}, nil // nothing is there
	}
	return r, nil
}

func (o *storeQueryOptions) flowNumber() (uint64, error) {
	if o.flow == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(o.flow, 10, 64)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("--flow %q: use the number of a flow, as store query flows gives it", o.flow)
	}
	return n, nil
}

func askSessions(ctx context.Context, o *storeQueryOptions, s *query.Store, r query.Range) (reply, error) {
	q := query.Sessions{Range: r, Where: o.where, ID: o.id, Limit: o.limit}
	if o.id == "" && o.qp == "" && o.addr == "" {
		return reply{}, errors.New("which session? use --qp NUMBER, --addr ADDRESS or --id ID")
	}
	var err error
	if o.qp != "" {
		q.HasQPN = true
		if q.QPN, err = parseQP(o.qp); err != nil {
			return reply{}, err
		}
	}
	if o.addr != "" {
		if q.Addr, err = netip.ParseAddr(o.addr); err != nil || q.Addr.Zone() != "" {
			return reply{}, fmt.Errorf("--addr %q is no IP address", o.addr)
		}
	}
	found, err := s.Sessions(ctx, q)
	if err != nil {
		return reply{}, err
	}
	answer := struct {
		*query.Answer[query.Session]
		Story *query.Story `json:"story,omitempty"`
	}{Answer: found}
	if len(found.Rows) == 1 {
		if answer.Story, err = s.Story(ctx, &found.Rows[0], 0); err != nil {
			return reply{}, err
		}
	}
	return reply{answer, func(w *strings.Builder) { sessionsText(w, found, answer.Story) }}, nil
}

func askFlows(ctx context.Context, o *storeQueryOptions, s *query.Store, r query.Range) (reply, error) {
	by, err := query.ParseMeasure(o.by)
	if err != nil {
		return reply{}, fmt.Errorf("--by: %w", err)
	}
	source, err := query.ParseSource(o.source)
	if err != nil {
		return reply{}, fmt.Errorf("--source: %w", err)
	}
	a, err := s.WorstFlows(ctx, query.WorstFlows{Range: r, Where: o.where, Source: source, By: by, MinPackets: o.minPackets, Limit: o.limit})
	return reply{a, func(w *strings.Builder) { flowsText(w, a, by) }}, err
}

func askFlow(ctx context.Context, o *storeQueryOptions, s *query.Store, r query.Range) (reply, error) {
	flow, err := o.flowNumber()
	if err != nil {
		return reply{}, err
	}
	if flow == 0 {
		return reply{}, errors.New("which flow? use --flow NUMBER, as store query flows and session give it")
	}
	source, err := query.ParseSource(o.source)
	if err != nil {
		return reply{}, fmt.Errorf("--source: %w", err)
	}
	a, err := s.FlowSeries(ctx, query.FlowSeries{Range: r, Where: o.where, Source: source, Flow: flow, Step: o.step, Limit: o.limit})
	return reply{a, func(w *strings.Builder) { flowText(w, a) }}, err
}

func askStorms(ctx context.Context, o *storeQueryOptions, s *query.Store, r query.Range) (reply, error) {
	a, err := s.Storms(ctx, query.Storms{Range: r, Where: o.where, All: o.all, Limit: o.limit})
	return reply{a, func(w *strings.Builder) { stormsText(w, a) }}, err
}

func askLag(ctx context.Context, o *storeQueryOptions, s *query.Store, r query.Range) (reply, error) {
	q := query.LagByDSCP(r, o.where)
	var err error
	if q.Source, err = query.ParseSource(o.source); err != nil {
		return reply{}, fmt.Errorf("--source: %w", err)
	}
	q.Limit = o.limit
	a, err := s.Percentiles(ctx, q)
	return reply{a, func(w *strings.Builder) { percentilesText(w, "dscp", a) }}, err
}

func askLatency(ctx context.Context, o *storeQueryOptions, s *query.Store, r query.Range) (reply, error) {
	q := query.Percentiles{Range: r, Where: o.where, Of: o.of, Limit: o.limit}
	var err error
	if q.Flow, err = o.flowNumber(); err != nil {
		return reply{}, err
	}
	if q.Source, err = query.ParseSource(o.source); err != nil {
		return reply{}, fmt.Errorf("--source: %w", err)
	}
	if q.By, err = o.groupBy(query.Ungrouped); err != nil {
		return reply{}, err
	}
	a, err := s.Percentiles(ctx, q)
	return reply{a, func(w *strings.Builder) { percentilesText(w, q.By.String(), a) }}, err
}

func askTotals(ctx context.Context, o *storeQueryOptions, s *query.Store, r query.Range) (reply, error) {
	q := query.Totals{Range: r, Where: o.where, Limit: o.limit}
	var err error
	if q.Source, err = query.ParseSource(o.source); err != nil {
		return reply{}, fmt.Errorf("--source: %w", err)
	}
	if q.By, err = o.groupBy(query.PerRun); err != nil {
		return reply{}, err
	}
	a, err := s.Totals(ctx, q)
	return reply{a, func(w *strings.Builder) { totalsText(w, q.By.String(), a) }}, err
}

// groupBy is --group, or what a question has without it.
func (o *storeQueryOptions) groupBy(byDefault query.Group) (query.Group, error) {
	if o.group == "" {
		return byDefault, nil
	}
	g, err := query.ParseGroup(o.group)
	if err != nil {
		err = fmt.Errorf("--group: %w", err)
	}
	return g, err
}

func askEvents(ctx context.Context, o *storeQueryOptions, s *query.Store, r query.Range) (reply, error) {
	a, err := s.Events(ctx, query.Events{Range: r, Where: o.where, Session: o.session, Kind: o.kind, Limit: o.limit})
	return reply{a, func(w *strings.Builder) { eventsText(w, a) }}, err
}

func askFindings(ctx context.Context, o *storeQueryOptions, s *query.Store, r query.Range) (reply, error) {
	q := query.Findings{Range: r, Where: o.where, Session: o.session, Limit: o.limit}
	if o.severity != "" {
		var err error
		if q.Severity, err = record.ParseSeverity(o.severity); err != nil {
			return reply{}, fmt.Errorf("--severity: %w", err)
		}
	}
	a, err := s.Findings(ctx, q)
	return reply{a, func(w *strings.Builder) { findingsText(w, a) }}, err
}
