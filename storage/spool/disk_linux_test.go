package spool

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rocelens/rocelens/capture/disktest"
)

// TestDiskFull: when the disk is full, Put says so and keeps what it had; what is
// there can be taken out, and when there is room again, it goes on.
func TestDiskFull(t *testing.T) {
	dir := disktest.Mount(t, "size=8m", 0)
	p := filepath.Join(dir, "spool")
	s := mustOpen(t, p)
	other := filepath.Join(dir, "other") // what fills the disk besides
	if err := os.WriteFile(other, make([]byte, 3<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	put, first := 0, 0
	fill := func() {
		t.Helper()
		for {
			err := s.Put(batch(put, 100_000), nil)
			if errors.Is(err, ErrDiskFull) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			put++
		}
	}
	fill()
	if put < 20 {
		t.Errorf("full with %d batches", put)
	}
	check := func(n int) {
		t.Helper()
		for range n {
			b, number, ok, err := s.After(0)
			if err != nil || !ok || !same(b, batch(first, 100_000)) {
				t.Fatalf("batch %d: %v, %v", first, ok, err)
			}
			if err := s.Remove(number); err != nil && !errors.Is(err, ErrDiskFull) {
				t.Fatal(err)
			}
			first++
		}
	}
	check(5)
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	fill()
	check(put - first)
	if n := s.Size().Batches; n != 0 {
		t.Errorf("%d batches are left", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, p)
	if n := s.Size().Batches; n != 0 {
		t.Errorf("%d batches are left when it is opened again", n)
	}
}
