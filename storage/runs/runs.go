// Package runs keeps the same from being loaded twice: it knows runs by what they
// read and how, says which are in the store already, and takes those out that
// were broken off.
package runs

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rocelens/rocelens/storage/client"
	"github.com/rocelens/rocelens/storage/schema"
)

// ID is the id of a run: a hash of its inputs, in their order, and of its options.
func ID(inputs [][sha256.Size]byte, options string) string {
	h := sha256.New()
	for _, in := range inputs {
		h.Write(in[:])
	}
	h.Write([]byte(options))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// NewID is the id of a run that is like no other: of what is live, or piped.
func NewID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

// How much of a file is looked at: so many pieces, spread over it evenly, and all
// of a small one. A capture is not changed in its middle by accident.
const (
	pieces    = 64
	pieceSize = 64 << 10
)

// Input is the hash of an input: of its size, and of pieces of it.
func Input(r io.ReaderAt, size int64) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	_ = binary.Write(h, binary.BigEndian, size) // it never fails
	step := max((size-pieceSize)/(pieces-1), pieceSize)
	for at := int64(0); at < size; at += step {
		if at+step >= size { // the last one, to the end
			at = max(at, size-pieceSize)
		}
		n, err := io.Copy(h, io.NewSectionReader(r, at, min(pieceSize, size-at)))
		if err != nil {
			return sum, fmt.Errorf("what a run reads: %w", err)
		}
		if n == 0 {
			return sum, fmt.Errorf("what a run reads: %w", io.ErrUnexpectedEOF)
		}
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// FinishedError says that a run is in the store already.
type FinishedError struct {
	Run  string
	Rows uint64
	At   time.Time
}

func (e *FinishedError) Error() string {
	return fmt.Sprintf("this is in the store already: run %s, %d rows, loaded %s", e.Run, e.Rows, e.At.UTC().Format(time.DateTime))
}

// BusyError says that somebody else is loading the same.
type BusyError struct{ Run, Probe string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("%s is loading the same (run %s): wait for it, or, if it was ended by force, for a minute", e.Probe, e.Run)
}

// A run that is being loaded says so every alive, and is taken for broken off
// after stale.
const (
	alive = 10 * time.Second
	stale = time.Minute
)

// Run is a run that is being loaded.
type Run struct {
	client *client.Client
	opts   schema.Options
	origin schema.Origin
	row    schema.Run
	sent   uint64
	batch  *schema.Batch[schema.Run]
}

// Begin begins to load a run, whose id is origin.Run. If it is finished, or is
// being loaded by another, that is the error. What an attempt that was broken off
// left is removed first.
func Begin(ctx context.Context, c *client.Client, o schema.Options, origin schema.Origin, row schema.Run) (*Run, error) {
	r := &Run{client: c, opts: o, origin: origin, row: row, batch: schema.Runs().Batch()}
	state, err := r.look(ctx)
	if err != nil {
		return nil, err
	}
	if state == schema.RunBegun.String() || state == schema.RunBroken.String() {
		if err := Remove(ctx, c, &r.opts, origin.Run); err != nil {
			return nil, fmt.Errorf("removing what a run left that was broken off: %w", err)
		}
	}
	r.row.Attempt = NewID()[:8]
	if err := r.Alive(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// look is the state of the run in the store, "" where it is not there.
func (r *Run) look(ctx context.Context) (state string, err error) {
	var probe, attempt string
	var rows uint64
	var loaded time.Time
	var old uint8
	err = r.client.Row(ctx, []any{&state, &probe, &attempt, &rows, &loaded, &old},
		"SELECT state, probe, attempt, rows, loaded, loaded < now() - ? FROM "+r.opts.Name(r.batch.Table())+
			" WHERE run = ? ORDER BY updated DESC, loaded DESC LIMIT 1", int(stale/time.Second), r.origin.Run)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", nil
	case err != nil:
		return "", err
	case state == schema.RunFinished.String():
		return state, &FinishedError{Run: r.origin.Run, Rows: rows, At: loaded}
	case state == schema.RunBegun.String() && old == 0:
		return state, &BusyError{Run: r.origin.Run, Probe: probe}
	}
	return state, nil
}

// Use goes on by another connection, to the same store. Nobody may Keep the run
// meanwhile.
func (r *Run) Use(c *client.Client) { r.client = c }

// Attempt names this attempt, for tokens.
func (r *Run) Attempt() string { return r.row.Attempt }

// Keep says that the run is being loaded until ctx ends.
func (r *Run) Keep(ctx context.Context) {
	t := time.NewTicker(alive)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			_ = r.Alive(ctx) // the store can be away; the next one comes soon
		case <-ctx.Done():
			return
		}
	}
}

// Alive says that the run is being loaded.
func (r *Run) Alive(ctx context.Context) error {
	r.row.State = schema.RunBegun
	return r.write(ctx)
}

// Finish says that all of the run is in the store but for so many rows. If any
// are missing the run stays unfinished, and can be loaded again.
func (r *Run) Finish(ctx context.Context, rows, dropped uint64) error {
	r.row.Rows, r.row.Dropped = rows, dropped
	r.row.State = schema.RunFinished
	if dropped > 0 {
		r.row.State = schema.RunBroken
	}
	return r.write(ctx)
}

// Break says that the run was broken off, so that it can be loaded again at once.
func (r *Run) Break(ctx context.Context) error {
	r.row.State = schema.RunBroken
	return r.write(ctx)
}

func (r *Run) write(ctx context.Context) error {
	// Newer than the one before, whatever the clock does.
	r.row.Updated = max(time.Now().UnixNano(), r.row.Updated+1)
	r.sent++
	r.batch.Reset()
	r.batch.Append(&r.origin, []schema.Run{r.row})
	block, err := r.batch.Encode(nil)
	if err != nil {
		return err
	}
	token := fmt.Sprintf("%s/%s/runs/%d", r.origin.Run, r.row.Attempt, r.sent)
	return r.client.Insert(ctx, &r.opts, r.batch.Table(), token, block)
}

// Remove takes a run out of all tables, the roll-ups included.
func Remove(ctx context.Context, c *client.Client, o *schema.Options, run string) error {
	for _, t := range schema.Tables() {
		if err := c.Exec(ctx, "DELETE FROM "+o.Local(t)+o.OnCluster()+" WHERE run = ?", run); err != nil {
			return err
		}
	}
	return nil
}
