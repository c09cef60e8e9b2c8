package capture

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture/capturetest"
)

// Each capture is read to its last frame, and the frames have the times and
// lengths that tshark 4.0.17 sees. testdata/captures.tsv has, of each, the
// number of frames and the start of the SHA-256 of what
//
//	tshark -r FILE -T fields -e frame.time_epoch -e frame.cap_len -e frame.len
//
// prints. tshark takes ERF headers off the lengths, and refuses link type 247:
// there it was given the file with the link type changed.
func TestRealCaptures(t *testing.T) {
	dir := capturetest.NeedShared(t)
	table, err := os.Open(filepath.Join("testdata", "captures.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	}()
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		field := strings.Split(lines.Text(), "\t")
		if len(field) != 3 {
			t.Fatalf("%q has %d fields", lines.Text(), len(field))
		}
		frames, digest := digestOf(t, filepath.Join(dir, filepath.FromSlash(field[0])))
		if got := fmt.Sprint(frames); got != field[1] {
			t.Errorf("%s: %s frames, tshark has %s", field[0], got, field[1])
		} else if digest != field[2] {
			t.Errorf("%s: times or lengths are not tshark's", field[0])
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

func digestOf(t *testing.T, path string) (frames int, digest string) {
	t.Helper()
	f, err := Open(path, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	sum := sha256.New()
	var b Batch
	for err = f.ReadBatch(&b); err == nil; err = f.ReadBatch(&b) {
		for _, fr := range b.Frames {
			frames++
			headers := 0
			if fr.Link == LinkERF {
				headers = erfHeaders(fr.Data) + erfTypes[fr.Data[8]&erfTypeMask].pre
			}
			_, err := fmt.Fprintf(sum, "%d.%09d\t%d\t%d\n", fr.Time/nsPerSecond, fr.Time%nsPerSecond,
				len(fr.Data)-headers, int(fr.OrigLen)-headers)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("%s: %v", path, err)
	}
	return frames, hex.EncodeToString(sum.Sum(nil))[:16]
}
