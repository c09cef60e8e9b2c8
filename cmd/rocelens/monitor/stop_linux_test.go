package monitor

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/storage/dsn"
	"github.com/rocelens/rocelens/storage/engine/enginetest"
)

// opened is a store of a DSN, with a spool of the least size.
func opened(t *testing.T, name string) *store {
	t.Helper()
	cfg := DefaultConfig().Store
	var err error
	if cfg.DSN, err = dsn.Parse(name); err != nil {
		t.Fatal(err)
	}
	cfg.Spool.Path, cfg.Spool.MaxBytes = filepath.Join(t.TempDir(), "spool"), 16<<20
	cfg.Writer.MaxRows, cfg.Writer.MaxAge, cfg.Writer.Stats = 1000, time.Hour, time.Hour
	s, err := openStore(t.Context(), cfg, nil, "1", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStop: rows that stay in the spool are no error, and rows that are lost are.
func TestStop(t *testing.T) {
	stop := func(s *store) error {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		return s.stop(ctx)
	}
	const away = "http://127.0.0.1:1"
	s := opened(t, away)
	s.start()
	s.intervals(make([]record.FlowInterval, 10))
	if err := stop(s); err != nil {
		t.Errorf("with room: %v", err)
	}

	s = opened(t, away)
	s.start()
	for _, rows := range []int{1000, 10, 1} { // until not even one row fits
		for before := s.writer.Counts().Total().Dropped; s.writer.Counts().Total().Dropped == before; {
			s.intervals(make([]record.FlowInterval, rows))
			if err := s.writer.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.intervals(make([]record.FlowInterval, 7))
	if err := stop(s); err == nil || !strings.Contains(err.Error(), "rows that came last are lost") {
		t.Errorf("without room: %v", err)
	}
}

// TestCloseUnstarted: a store that was opened and is closed leaves nobody behind who
// says that its run goes on.
func TestCloseUnstarted(t *testing.T) {
	enginetest.Need(t)
	s := opened(t, "embedded:"+t.TempDir())
	if err := s.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		s.kept.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Error("it is still said that the run goes on")
	}
}
