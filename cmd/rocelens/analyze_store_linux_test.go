package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/storage/dsn"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
)

// clickhouse is a ClickHouse that runs for a test.
type clickhouse struct {
	url, user, password string
	dsn                 string // without the password, which is in the environment
}

func startClickHouse(t *testing.T) *clickhouse {
	t.Helper()
	enginetest.Need(t)
	dir := filepath.Join(t.TempDir(), "store")
	cmd := exec.Command("/proc/self/exe", "store", "serve", "--listen", "127.0.0.1:0", "embedded:"+dir)
	cmd.Args[0] = "rocelens" // see TestMain
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	line, _ := bufio.NewReader(out).ReadString('\n')
	m := regexp.MustCompile(`http://(127\.0\.0\.1:\d+)/`).FindStringSubmatch(line)
	text, err := os.ReadFile(filepath.Join(dir, "credentials"))
	if m == nil || err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	f := strings.Fields(string(text)) // machine HOST login USER password PASSWORD
	t.Setenv(dsn.PasswordEnv, f[5])
	return &clickhouse{url: m[0], user: f[3], password: f[5], dsn: "http://" + f[3] + "@" + m[1] + "/rocelens"}
}

// row is the one row that a query gives.
func (c *clickhouse) row(t *testing.T, format string, args ...any) []string {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, c.url, strings.NewReader(fmt.Sprintf(format, args...)))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth(c.user, c.password)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v: %s", err, body)
	}
	return strings.Split(strings.TrimSuffix(string(body), "\n"), "\t")
}

// number is what a path leads to in a report, 0 where it ends early.
func number(v any, path string) int64 {
	for _, name := range strings.Split(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			return 0
		}
		v = m[name]
	}
	n, _ := v.(json.Number)
	i, _ := n.Int64()
	return i
}

// sumOfSessions are the columns of sessions, and of flow_intervals where they
// have the same name, and where their sums are in a report's directions.
var sumOfSessions = map[string]string{
	"packets": "packets", "wire_bytes": "wire_bytes", "payload_bytes": "payload_bytes", "goodput_bytes": "goodput_bytes",
	"messages_completed": "messages.completed", "retransmitted_packets": "retransmitted.packets", "retransmitted_bytes": "retransmitted.bytes",
	"lost_before_tap": "lost.before_tap", "lost_after_tap": "lost.after_tap",
}

// sumOfIntervals are further ones of flow_intervals.
var sumOfIntervals = map[string]string{
	"not_ect": "ecn.not_ect", "ect0": "ecn.ect0", "ect1": "ecn.ect1", "ce": "ecn.ce", "acks": "acks", "rnr_naks": "rnr_naks",
	"sends": "messages.send", "writes": "messages.write", "reads": "messages.read", "atomics": "messages.atomic", "read_responses": "read_responses.packets",
}

// TestAnalyzeStore: what the tables sum up to is what the report says, of each
// capture, to the last packet; and so it stays when the same is loaded again.
func TestAnalyzeStore(t *testing.T) {
	c := startClickHouse(t)
	list := capturetest.Committed(t)
	paused := filepath.Join(t.TempDir(), "pfc_tree.pcapng")
	generate(t, []string{"pfc_tree", "--snaplen", "128", "-o", paused})
	list = append(list, capturetest.Capture{Name: "pfc_tree", Path: paused})
	const together = 4 // mostly they wait for the disk
	var all sync.WaitGroup
	var mu sync.Mutex
	sum := make(map[string]int64)
	places := make(chan struct{}, together)
	for i, x := range list {
		if i%underRace != 0 && x.Path != paused {
			continue
		}
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			t.Run(x.Name, func(t *testing.T) {
				for again := range 1 + i%5/4 { // every fifth twice
					for what, n := range loaded(t, c, x.Path, again > 0) {
						mu.Lock()
						sum[what] += n
						mu.Unlock()
					}
				}
			})
		})
	}
	all.Wait()
	for _, what := range []string{"sessions", "intervals", "events", "findings", "pauses"} {
		if sum[what] == 0 {
			t.Errorf("no %s: not all was tried", what)
		}
	}
	t.Log(sum)
}

// loaded analyses a capture into the store, compares the two, and returns how
// many there are of what.
func loaded(t *testing.T, c *clickhouse, path string, again bool) map[string]int64 {
	t.Helper()
	var out, errOut bytes.Buffer
	args := []string{"analyze", "--format", "json", "--store", c.dsn, "--interval", "20ms", "--link-speed", "100G", path}
	code := run(context.Background(), args, nil, &out, &errOut)
	if code != exitDone && code != exitDamaged {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	if told := strings.Contains(errOut.String(), "this is in the store already"); told != again {
		t.Errorf("it says %s", errOut.String())
	}
	var r map[string]any
	d := json.NewDecoder(&out)
	d.UseNumber()
	if err := d.Decode(&r); err != nil {
		t.Fatal(err)
	}
	id := c.row(t, "SELECT run FROM rocelens.runs FINAL WHERE has(inputs, '%s') AND state = 'finished'", path)[0]
	if len(id) != 32 {
		t.Fatalf("run %q", id)
	}
	sum := func(path string) (n int64) {
		for _, s := range r["sessions"].([]any) {
			for _, side := range []string{"a_to_b", "b_to_a"} {
				n += number(s, side+"."+path)
			}
		}
		return n
	}
	check := func(what string, got string, want int64) {
		t.Helper()
		if n, err := strconv.ParseInt(got, 10, 64); err != nil || n != want {
			t.Errorf("%s is %s in the store, and %d in the report", what, got, want)
		}
	}
	n := map[string]int64{"sessions": int64(len(r["sessions"].([]any))), "events": int64(len(r["events"].([]any))), "findings": int64(len(r["findings"].([]any)))}
	columns := slices.Sorted(maps.Keys(sumOfSessions))
	var sums []string
	for _, name := range columns {
		sums = append(sums, fmt.Sprintf("sum(a_%s + b_%[1]s)", name))
	}
	row := c.row(t, "SELECT count(), %s FROM rocelens.sessions FINAL WHERE run = '%s'", strings.Join(sums, ", "), id)
	check("the number of sessions", row[0], n["sessions"])
	for i, name := range columns {
		check(name+" of sessions", row[i+1], sum(sumOfSessions[name]))
	}
	further := slices.Sorted(maps.Keys(sumOfIntervals))
	sums = sums[:0]
	for _, name := range slices.Concat(columns, further) {
		sums = append(sums, fmt.Sprintf("sum(%s)", name))
	}
	row = c.row(t, "SELECT count(), sum(arraySum(mapValues(ack_latency))), %s FROM rocelens.flow_intervals WHERE run = '%s'", strings.Join(sums, ", "), id)
	n["intervals"], _ = strconv.ParseInt(row[0], 10, 64)
	check("the number of ACK latencies of intervals", row[1], sum("ack_latency_ns.count"))
	for i, name := range columns {
		check(name+" of intervals", row[i+2], sum(sumOfSessions[name]))
	}
	for i, name := range further {
		check(name+" of intervals", row[i+2+len(columns)], sum(sumOfIntervals[name]))
	}
	count := int64(0)
	for _, e := range r["events"].([]any) {
		count += number(e, "count")
	}
	for _, p := range r["pause"].([]any) {
		n["pauses"] += number(p, "pauses")
	}
	row = c.row(t, `SELECT (SELECT sum(packets) FROM rocelens.flow_1m WHERE run = '%[1]s'), (SELECT sum(packets) FROM rocelens.flow_1h WHERE run = '%[1]s'),
		(SELECT count() FROM rocelens.events WHERE run = '%[1]s'), (SELECT sum(count) FROM rocelens.events WHERE run = '%[1]s'),
		(SELECT count() FROM rocelens.findings WHERE run = '%[1]s'), (SELECT count() FROM rocelens.pause_intervals WHERE run = '%[1]s')`, id)
	check("packets of flow_1m", row[0], sum("packets"))
	check("packets of flow_1h", row[1], sum("packets"))
	check("the number of events", row[2], n["events"])
	check("the count of events", row[3], count)
	check("the number of findings", row[4], n["findings"])
	check("the number of pauses", row[5], n["pauses"])
	return n
}

// TestAnalyzeStoreKilled: an analysis that is killed while it writes leaves what
// is taken out again when the same is loaded anew, and then each row is there once.
func TestAnalyzeStoreKilled(t *testing.T) {
	c := startClickHouse(t)
	path := filepath.Join(t.TempDir(), "c.pcap")
	generate(t, []string{"bulk_write", "--packets", "400000", "--snaplen", "128", "-o", path})
	args := []string{"analyze", "--format", "json", "--store", c.dsn, "--interval", "1ms", path}
	if code := run(context.Background(), []string{"store", "migrate", c.dsn}, nil, io.Discard, io.Discard); code != exitDone {
		t.Fatal(code)
	}
	rows := func() int64 {
		t.Helper()
		n, err := strconv.ParseInt(c.row(t, "SELECT count() FROM rocelens.flow_intervals")[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Args[0] = "rocelens" // see TestMain
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); rows() == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it writes nothing")
		}
	}
	_ = cmd.Process.Kill()
	if err := cmd.Wait(); err == nil {
		t.Fatal("it ended before it was killed")
	}
	broken := rows()
	var errOut bytes.Buffer
	if code := run(context.Background(), args, nil, io.Discard, &errOut); code != exitFailed || !strings.Contains(errOut.String(), "is loading the same") {
		t.Errorf("at once: exit code %d, %s", code, errOut.String())
	}
	// As if a minute had passed: what ClickHouse had been sent is written, and the
	// run is silent.
	for c.row(t, "SELECT count() FROM system.processes WHERE query_kind = 'Insert'")[0] != "0" {
		time.Sleep(10 * time.Millisecond)
	}
	c.row(t, "ALTER TABLE rocelens.runs UPDATE loaded = loaded - 100 WHERE 1 SETTINGS mutations_sync = 2")
	var out bytes.Buffer
	if code := run(context.Background(), args, nil, &out, io.Discard); code != exitDone {
		t.Fatalf("again: exit code %d", code)
	}
	var r map[string]any
	d := json.NewDecoder(&out)
	d.UseNumber()
	if err := d.Decode(&r); err != nil {
		t.Fatal(err)
	}
	want := int64(0)
	for _, s := range r["sessions"].([]any) {
		want += number(s, "a_to_b.packets") + number(s, "b_to_a.packets")
	}
	for _, table := range []string{"flow_intervals", "flow_1m", "flow_1h"} {
		if n := c.row(t, "SELECT sum(packets) FROM rocelens.%s", table)[0]; n != fmt.Sprint(want) {
			t.Errorf("%s packets in %s, and %d in the report; %d rows were there when it was killed", n, table, want, broken)
		}
	}
}
