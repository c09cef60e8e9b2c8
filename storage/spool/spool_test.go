package spool

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func path(t *testing.T) string { return filepath.Join(t.TempDir(), "spool") }

func mustOpen(t *testing.T, path string) *Spool {
	t.Helper()
	s, err := Open(Config{path, minBytes}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func batch(n, size int) Batch {
	data := make([]byte, size)
	rng := rand.NewChaCha8([32]byte{byte(n), byte(n >> 8)})
	_, _ = rng.Read(data)
	return Batch{Table: fmt.Sprintf("t%d", n%3), Token: fmt.Sprintf("token-%d", n), Rows: n + 1, Data: data}
}

// take takes the oldest batch out.
func take(t *testing.T, s *Spool) (Batch, bool) {
	t.Helper()
	b, number, ok, err := s.After(0)
	if err != nil {
		t.Fatal(err)
	}
	if ok {
		if err := s.Remove(number); err != nil {
			t.Fatal(err)
		}
	}
	return b, ok
}

func same(a, b Batch) bool {
	return a.Table == b.Table && a.Token == b.Token && a.Rows == b.Rows && bytes.Equal(a.Data, b.Data)
}

// TestOrder: what is put comes back whole and in order, however often the file
// is closed and opened between.
func TestOrder(t *testing.T) {
	p := path(t)
	s := mustOpen(t, p)
	const n = 200
	put, got := 0, 0
	rng := rand.New(rand.NewPCG(1, 2))
	for got < n {
		switch {
		case put < n && rng.IntN(3) > 0:
			if err := s.Put(batch(put, rng.IntN(20_000)), nil); err != nil {
				t.Fatal(err)
			}
			put++
		default:
			b, ok := take(t, s)
			if ok != (got < put) {
				t.Fatalf("a batch: %v, though %d of %d are out", ok, got, put)
			}
			if !ok {
				continue
			}
			if want := batch(got, len(b.Data)); !same(b, want) {
				t.Fatalf("batch %d is %s %d", got, b.Token, b.Rows)
			}
			got++
		}
		if rng.IntN(20) == 0 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = mustOpen(t, p)
		}
		rows := uint64(0)
		for i := got; i < put; i++ {
			rows += uint64(i + 1)
		}
		if size := s.Size(); size.Batches != put-got || size.Rows != rows || (size.Bytes > 0) != (put > got) {
			t.Fatalf("%+v with %d batches and %d rows", size, put-got, rows)
		}
	}
}

// TestFull: a spool that is full says so and keeps what it has; the file stays
// within its bound; and it can be emptied and filled again.
func TestFull(t *testing.T) {
	p := path(t)
	s := mustOpen(t, p)
	rng := rand.New(rand.NewPCG(3, 4))
	n, first := 0, 0
	for round := range 4 {
		bytes := int64(0)
		for {
			size := 1 + rng.IntN(1<<20)
			err := s.Put(batch(n, size), nil)
			if errors.Is(err, ErrFull) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			bytes += int64(size)
			n++
		}
		if info, err := os.Stat(p); err != nil || info.Size() > minBytes {
			t.Fatalf("round %d: %d bytes, %v", round, info.Size(), err)
		}
		if round == 0 && bytes < minBytes/2 {
			t.Errorf("full with %d of %d bytes", bytes, minBytes)
		}
		leave := rng.IntN(5)
		for s.Size().Batches > leave {
			b, _ := take(t, s)
			if want := batch(first, len(b.Data)); !same(b, want) {
				t.Fatalf("round %d: %s instead of %s", round, b.Token, want.Token)
			}
			first++
		}
	}
}

func TestDropped(t *testing.T) {
	p := path(t)
	s := mustOpen(t, p)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 10 {
				if err := s.Drop("events", 3); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if err := errors.Join(s.Drop("sessions", 5), s.Put(batch(1, 10), map[string]uint64{"events": 40}), s.Close()); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, p)
	got, err := s.Dropped()
	if err != nil || len(got) != 2 || got["events"] != 200 || got["sessions"] != 5 {
		t.Errorf("%v, %v", got, err)
	}
	rest := map[string]uint64{"events": 200, "sessions": 5}
	big := batch(2, 0)
	big.Data = make([]byte, minBytes)
	if err := s.Put(big, rest); !errors.Is(err, ErrFull) {
		t.Fatal(err)
	}
	if got, err := s.Dropped(); err != nil || len(got) != 2 {
		t.Errorf("told by a batch that is not kept: %v, %v", got, err)
	}
	if err := s.Put(batch(2, 10), rest); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Dropped(); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestInUse(t *testing.T) {
	p := path(t)
	mustOpen(t, p)
	want := "in use by another program"
	if runtime.GOOS == "linux" {
		want = fmt.Sprintf("in use by process %d (", os.Getpid())
	}
	if _, err := Open(Config{p, minBytes}, quiet); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
	if _, err := Open(Config{filepath.Join(p, "x"), minBytes}, quiet); err == nil {
		t.Error("a file is no directory")
	}
	other := path(t)
	for _, text := range []string{"x", strings.Repeat("a letter\n", 1000)} {
		if err := os.WriteFile(other, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(Config{other, minBytes}, quiet)
		if still, e := os.ReadFile(other); err == nil || !strings.Contains(err.Error(), "is no spool") || e != nil || string(still) != text {
			t.Errorf("a file of somebody: %v, %v", err, e)
		}
	}
	if _, err := Open(Config{path(t), 1 << 20}, quiet); err == nil || !strings.Contains(err.Error(), "too small") {
		t.Errorf("%v", err)
	}
}

// TestDamage: of a file that was cut, or whose data or first pages are not what
// they were, what is whole comes back, or a new one is begun beside it.
func TestDamage(t *testing.T) {
	p := path(t)
	s := mustOpen(t, p)
	const n = 40
	for i := range n {
		if err := s.Put(batch(i, 3000), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(p)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	aside, damagedRows, fine := 0, 0, 0
	for i := range 150 {
		data := bytes.Clone(whole)
		switch i % 3 {
		case 0:
			data = data[:rng.IntN(len(data))]
		case 1:
			for k := range n {
				if rng.IntN(4) > 0 {
					continue
				}
				at := bytes.Index(data, batch(k, 3000).Data)
				if at < 0 {
					t.Fatalf("the data of batch %d is not in one piece", k)
				}
				data[at+rng.IntN(3000)] ^= byte(1 + rng.IntN(255))
			}
		default:
			for range 1 + rng.IntN(20) {
				data[rng.IntN(2*os.Getpagesize())] ^= byte(1 + rng.IntN(255)) // the pages that say where all others are
			}
		}
		q := path(t)
		if err := os.WriteFile(q, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(Config{q, minBytes}, quiet)
		if err != nil {
			t.Errorf("%d: %v", i, err)
			continue
		}
		if list, _ := filepath.Glob(q + ".damaged-*"); len(list) > 0 {
			aside++
			if s.Size().Batches > 0 {
				t.Errorf("%d: a new spool with %d batches", i, s.Size().Batches)
			}
		}
		for s.Size().Batches > 0 {
			b, number, ok, err := s.After(0)
			var broken *DamagedError
			switch {
			case errors.As(err, &broken):
				damagedRows += broken.Rows
			case err != nil || !ok:
				t.Fatalf("%d: %v %v", i, ok, err)
			case !same(b, batch(b.Rows-1, 3000)):
				t.Errorf("%d: batch %d is another one", i, b.Rows-1)
			default:
				fine++
			}
			if err := s.Remove(number); err != nil {
				t.Fatalf("%d: %v", i, err)
			}
		}
		if err := errors.Join(s.Put(batch(1, 10), nil), s.Close()); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	if aside == 0 || damagedRows == 0 || fine == 0 {
		t.Errorf("%d were put aside, %d rows were damaged, %d batches fine: not all of it was tried", aside, damagedRows, fine)
	}
}

// TestCutWhileOpen: another program cuts the file under us.
func TestCutWhileOpen(t *testing.T) {
	p := path(t)
	s := mustOpen(t, p)
	for i := range 20 {
		if err := s.Put(batch(i, 100_000), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(p, 8192); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := s.After(0); err == nil {
		t.Error("a batch from a file that is gone")
	}
	if err := s.Put(batch(1, 10), nil); err == nil {
		t.Error("a batch was put into a file that is gone")
	}
}

// TestKilled: a program is killed while it puts batches. All that Put took are
// there afterwards, and whole.
func TestKilled(t *testing.T) {
	if p := os.Getenv("SPOOL_TO_FILL"); p != "" {
		s, err := Open(Config{p, minBytes}, quiet)
		if err != nil {
			t.Fatal(err)
		}
		for n := s.Size().Batches; ; n++ {
			if err := s.Put(batch(n, 5000), nil); err != nil {
				t.Fatal(err)
			}
			_, _ = fmt.Fprintln(os.Stdout, n)
		}
	}
	p := path(t)
	put := 0
	for range 5 {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestKilled$")
		cmd.Env = append(os.Environ(), "SPOOL_TO_FILL="+p)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for i := 0; lines.Scan(); i++ {
			if n, err := strconv.Atoi(lines.Text()); err != nil || n < put {
				t.Errorf("%q after %d batches", lines.Text(), put)
			} else {
				put = n + 1
			}
			if i == 20 {
				_ = cmd.Process.Kill()
			}
		}
		_ = cmd.Wait() // it was killed
		s := mustOpen(t, p)
		if n := s.Size().Batches; n < put || n > put+1 {
			t.Fatalf("%d batches, %d were put", n, put)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := mustOpen(t, p)
	for n := range s.Size().Batches {
		if b, _ := take(t, s); !same(b, batch(n, 5000)) {
			t.Errorf("batch %d is %s", n, b.Token)
		}
	}
}

// TestGone: what is removed and can't be taken out of the file counts no more, neither
// as batches, nor as rows, nor as bytes, before it goes with the next that can.
func TestGone(t *testing.T) {
	p := path(t)
	s := mustOpen(t, p)
	const all = 25
	for i := range all {
		if err := s.Put(batch(i, 100_000), nil); err != nil {
			t.Fatal(err)
		}
	}
	one := s.Size().Bytes / all
	removed := 0
	remove := func() error {
		t.Helper()
		_, number, ok, err := s.After(0)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		err = s.Remove(number)
		removed++
		want := Size{Batches: all - removed, Bytes: int64(all-removed) * one, Max: s.max}
		for i := removed; i < all; i++ {
			want.Rows += uint64(batch(i, 1).Rows)
		}
		if got := s.Size(); got != want {
			t.Fatalf("after %d: %+v, not %+v", removed, got, want)
		}
		return err
	}
	// With a reader, pages that are left can't be used again, and the file may not grow.
	most := s.cfg.MaxBytes
	s.cfg.MaxBytes = 1
	reader, err := s.db.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Rollback() }() // closing the file waits for it
	for failed := 0; failed < 3; {
		if err := remove(); errors.Is(err, ErrFull) {
			failed++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := reader.Rollback(); err != nil {
		t.Fatal(err)
	}
	s.cfg.MaxBytes = most
	if err := remove(); err != nil {
		t.Fatal(err)
	}
	before := s.Size()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if after := mustOpen(t, p).Size(); after != before || len(s.gone) > 0 {
		t.Errorf("%+v, and %+v when it is opened again", before, after)
	}
}
