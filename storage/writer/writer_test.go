package writer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
	"github.com/rocelens/rocelens/storage/schema"
)

// fake is a store that can fail, and remembers which tokens it has.
type fake struct {
	mu    sync.Mutex
	fail  func(n int) error // the nth insert, from 1; the rows are there if lost says so
	lost  bool              // a failed insert has its effect all the same
	n     int
	seen  map[string]string // table by token
	order []string
}

func (f *fake) Insert(ctx context.Context, _ *schema.Options, t *schema.Table, token string, block []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	var err error
	if f.fail != nil {
		err = f.fail(f.n)
	}
	if err == nil || f.lost {
		if f.seen == nil {
			f.seen = map[string]string{}
		}
		if _, again := f.seen[token]; !again {
			f.seen[token] = t.Name
			f.order = append(f.order, token)
		}
	}
	return errors.Join(err, ctx.Err())
}

// batches is how many it has.
func (f *fake) batches() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.seen)
}

func config() Config {
	c := DefaultConfig()
	c.Run, c.Attempt, c.MaxRows = "run", "1", 10
	return c
}

func stats(n int) []schema.Stat {
	rows := make([]schema.Stat, n)
	for i := range rows {
		rows[i] = schema.Stat{Input: -1, Name: "x", Value: uint64(i)}
	}
	return rows
}

func start(t *testing.T, cfg Config, f *fake, q Queue, log *enginetest.Log) *Writer {
	t.Helper()
	w, err := New(cfg, schema.DefaultOptions(), f, q, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	w.Start(&schema.Origin{})
	return w
}

// TestSizeAndAge: a batch goes when it is full, and when it is old.
func TestSizeAndAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log enginetest.Log
		f := &fake{}
		w := start(t, config(), f, NewMemory(1<<20, true), &log)
		if err := w.Stats(t.Context(), &schema.Origin{}, stats(25)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := f.batches(); n != 2 {
			t.Errorf("%d batches at once, want 2 full ones", n)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if n := f.batches(); n != 3 {
			t.Errorf("%d batches after a while, want 3", n)
		}
		c, err := w.Close(t.Context())
		if err != nil || c.Left() != 0 || c["probe_stats"].Written < 25 || log.String() != "" {
			t.Errorf("%v %v %s", c, err, log.String())
		}
		if err := w.Stats(t.Context(), &schema.Origin{}, stats(10)); err == nil {
			t.Error("a closed writer takes a batch")
		}
	})
}

// TestRetries: batches whose inserts fail at random, with or without an effect,
// are all there in the end, and once.
func TestRetries(t *testing.T) {
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var log enginetest.Log
			r := rand.New(rand.NewPCG(1, 2))
			f := &fake{lost: lost, fail: func(int) error {
				if r.IntN(3) > 0 {
					return errors.New("connection reset")
				}
				return nil
			}}
			w := start(t, config(), f, NewMemory(10_000, true), &log)
			for range 50 {
				if err := w.Stats(t.Context(), &schema.Origin{}, stats(10)); err != nil {
					t.Fatal(err)
				}
			}
			c, err := w.Close(t.Context())
			total := c.Total()
			if err != nil || total.Written != total.Taken || total.Dropped != 0 || total.Failures == 0 {
				t.Errorf("%+v %v", total, err)
			}
			if n := uint64(len(f.seen)); n*10 < 500 {
				t.Errorf("%d batches", n)
			}
		})
	}
}

// TestBackoff: waits grow and stay below the longest, and differ. Each reason is
// logged once.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log enginetest.Log
		var at []time.Time
		f := &fake{fail: func(n int) error {
			at = append(at, time.Now())
			switch {
			case n < 8:
				return fmt.Errorf("away from port %d", n)
			case n < 15:
				return errors.New("another password")
			}
			return nil
		}}
		cfg := config()
		cfg.Senders, cfg.Stats = 1, time.Hour
		w := start(t, cfg, f, NewMemory(1<<20, true), &log)
		if err := w.Stats(t.Context(), &schema.Origin{}, stats(10)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if _, err := w.Close(t.Context()); err != nil {
			t.Error(err)
		}
		want := cfg.BackoffMin
		for i := 1; i < 15; i++ {
			if d := at[i].Sub(at[i-1]); d < want/2 || d > want {
				t.Errorf("wait %d: %v, want %v to %v", i, d, want/2, want)
			}
			want = min(2*want, cfg.BackoffMax)
		}
		if n := strings.Count(log.String(), "are sent again"); n != 2 || !strings.Contains(log.String(), "another password") || !strings.Contains(log.String(), "takes rows again") {
			t.Errorf("logged: %s", log.String())
		}
	})
}

// TestFull: what a queue without waiting has no room for is counted by table, is
// logged, and is in the store's counters afterwards.
func TestFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log enginetest.Log
		away := true
		f := &fake{fail: func(int) error {
			if away {
				return errors.New("away")
			}
			return nil
		}}
		q := NewMemory(4000, false)
		w := start(t, config(), f, q, &log)
		for range 20 {
			if err := w.Stats(t.Context(), &schema.Origin{}, stats(10)); err != nil {
				t.Fatal(err)
			}
			if _, bytes := q.Len(); bytes > 4000 {
				t.Fatalf("%d bytes in the queue", bytes)
			}
		}
		lost := w.Counts()["probe_stats"].Dropped
		if lost == 0 || lost%10 != 0 || !strings.Contains(log.String(), "rows are lost") {
			t.Fatalf("%d rows are lost: %s", lost, log.String())
		}
		f.mu.Lock()
		away = false
		f.mu.Unlock()
		time.Sleep(time.Minute)
		c, err := w.Close(t.Context())
		if err != nil || c["probe_stats"].Dropped < lost || c.Left() != 0 {
			t.Errorf("%v %v", c, err)
		}
	})
}

// TestRefused: what the store never takes is given up, counted and logged, and
// holds up nothing.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log enginetest.Log
		f := &fake{fail: func(n int) error {
			if n == 2 {
				return refusal{}
			}
			return nil
		}}
		cfg := config()
		cfg.Stats = time.Hour
		w := start(t, cfg, f, NewMemory(1<<20, true), &log)
		if err := w.Stats(t.Context(), &schema.Origin{}, stats(40)); err != nil {
			t.Fatal(err)
		}
		c, err := w.Close(t.Context())
		if got := c["probe_stats"]; err != nil || got.Dropped != 10 || got.Written != got.Taken-10 || !strings.Contains(log.String(), "rows are lost") {
			t.Errorf("%+v %v %s", got, err, log.String())
		}
	})
}

type refusal struct{}

func (refusal) Error() string { return "incorrect data" }
func (refusal) Refused() bool { return true }

// TestGivingUp: with a store that is away, Close ends with its context and says
// how much is missing. What waits for room meanwhile does not hold it up.
func TestGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log enginetest.Log
		f := &fake{fail: func(int) error { return errors.New("away") }}
		w := start(t, config(), f, NewMemory(1000, true), &log)
		adds := make(chan error)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		go func() { adds <- w.Stats(ctx, &schema.Origin{}, stats(200)) }()
		if err := <-adds; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("adding without room: %v", err)
		}
		end, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		c, err := w.Close(end)
		if err == nil || c.Total().Dropped+c.Left() < 200 || !strings.Contains(err.Error(), "rows are not in the store") {
			t.Errorf("%+v %v", c, err)
		}
	})
}

// TestGivingUpAtOnce: rows that are not even in a batch count as well, also while
// somebody waits for room with them.
func TestGivingUpAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log enginetest.Log
		f := &fake{fail: func(int) error { return errors.New("away") }}
		w := start(t, config(), f, NewMemory(1, true), &log)
		if err := w.Pauses(t.Context(), &schema.Origin{}, make([]record.PauseInterval, 5)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var adds sync.WaitGroup
		adds.Go(func() { _ = w.Stats(ctx, &schema.Origin{}, stats(35)) })
		synctest.Wait()
		end, ended := context.WithCancel(t.Context())
		ended()
		c, err := w.Close(end)
		if err == nil || c["pause_intervals"].Taken != 5 || c["probe_stats"].Taken < 35 || c.Left()+c.Total().Dropped != c.Total().Taken {
			t.Errorf("%+v %v", c, err)
		}
		cancel()
		adds.Wait()
	})
}

// remembering is a queue that remembers losses.
type remembering struct {
	*Memory
	mu   sync.Mutex
	lost map[string]uint64
}

func (q *remembering) Drop(table string, rows uint64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost[table] += rows
	return nil
}

func (q *remembering) Dropped() (map[string]uint64, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return maps.Clone(q.lost), nil
}

func (q *remembering) Put(ctx context.Context, b *Batch) error {
	err := q.Memory.Put(ctx, b)
	q.mu.Lock()
	defer q.mu.Unlock()
	for table, n := range b.Tells {
		if err == nil {
			q.lost[table] -= n
		}
	}
	return err
}

// TestLosses: what is lost is remembered until it is told, each row once, and
// begins with what the last program could not tell.
func TestLosses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log enginetest.Log
		f := &fake{fail: func(n int) error {
			if n%2 == 1 {
				return refusal{}
			}
			return nil
		}}
		q := &remembering{Memory: NewMemory(1<<20, true), lost: map[string]uint64{"events": 7}}
		cfg := config()
		cfg.Senders, cfg.Stats = 1, time.Minute
		damaged := &Batch{Table: "events", Token: "before", Rows: 4, Damaged: errors.New("damaged")}
		if err := q.Put(t.Context(), damaged); err != nil {
			t.Fatal(err)
		}
		lost := func(table string) uint64 {
			all, _ := q.Dropped()
			return all[table]
		}
		w := start(t, cfg, f, q, &log)
		for range 4 {
			if err := w.Pauses(t.Context(), &schema.Origin{}, make([]record.PauseInterval, 10)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if c := w.Counts(); c["events"].Dropped != 11 || c["pause_intervals"].Dropped != 20 || lost("events") != 11 || lost("pause_intervals") != 20 {
			t.Errorf("%+v, %d and %d are remembered", c, lost("events"), lost("pause_intervals"))
		}
		time.Sleep(90 * time.Second)
		if lost("events") != 0 || lost("pause_intervals") != 0 {
			t.Errorf("%d rows are remembered after they were told", lost("events")+lost("pause_intervals"))
		}
		c, err := w.Close(t.Context())
		if err != nil || c.Left() != 0 || lost("events") != 0 || lost("pause_intervals") != 0 {
			t.Errorf("%+v %v, %d and %d are remembered", c, err, lost("events"), lost("pause_intervals"))
		}
	})
}

// TestOrder: a queue hands out in order, and what is put back comes first.
func TestOrder(t *testing.T) {
	q := NewMemory(100, false)
	ctx := t.Context()
	for i := range 4 {
		if err := q.Put(ctx, &Batch{Token: fmt.Sprint(i), Block: make([]byte, 25)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Put(ctx, &Batch{Block: []byte{1}}); !errors.Is(err, ErrFull) {
		t.Errorf("no room, and %v", err)
	}
	take := func() *Batch {
		b, err := q.Take(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	a, b, c := take(), take(), take()
	for _, x := range []*Batch{b, c, a} {
		if err := q.Return(x); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		x := take()
		if x.Token != fmt.Sprint(i) {
			t.Errorf("%s came as number %d", x.Token, i)
		}
		if err := q.Done(x); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := q.Take(ctx); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	if n, bytes := q.Len(); n != 0 || bytes != 0 {
		t.Errorf("%d batches, %d bytes are left", n, bytes)
	}
}

func TestConfig(t *testing.T) {
	for _, change := range []func(*Config){
		func(c *Config) { c.Run = "" }, func(c *Config) { c.Attempt = "" }, func(c *Config) { c.MaxRows = 0 }, func(c *Config) { c.MaxRows = 2_000_000 },
		func(c *Config) { c.Senders = 0 }, func(c *Config) { c.MaxAge = 0 }, func(c *Config) { c.BackoffMax = 1 }, func(c *Config) { c.Stats = 0 },
	} {
		c := config()
		change(&c)
		if err := c.Validate(); err == nil {
			t.Errorf("taken: %+v", c)
		}
	}
	c := config()
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}
