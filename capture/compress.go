package capture

import (
	"bufio"
	"errors"
	"io"
	"strconv"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow is the most history that a zstd stream may make us hold: what the
// zstd tool itself decodes without being told to (--long=27).
const maxWindow = 128 << 20

// compressionOf tells gzip (RFC 1952) and zstd (RFC 8878, whose streams may
// begin with a skippable frame) by their first four bytes.
func compressionOf(head []byte) Compression {
	if len(head) >= 3 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8 {
		return Gzip
	}
	if len(head) < 4 {
		return Plain
	}
	switch magic := order32(head, false); {
	case magic == 0xfd2fb528, magic&^0xf == 0x184d2a50:
		return Zstd
	}
	return Plain
}

// decompress reads a compressed stream. It starts no goroutine: what there is
// to do at once is done by reading several inputs at once. close may be nil.
func decompress(r io.Reader, c Compression) (out io.Reader, closer func(), err error) {
	if c == Gzip {
		z, err := newGunzip(r)
		return z, nil, err
	}
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, nil, err
	}
	return unzstd{z}, z.Close, nil
}

// gunzip reads gzip streams that follow one another. Zeros behind them are
// padding, as gzip takes them.
type gunzip struct {
	in *bufio.Reader
	z  *gzip.Reader
}

func newGunzip(r io.Reader) (*gunzip, error) {
	in := bufio.NewReaderSize(r, readChunk)
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	z.Multistream(false)
	return &gunzip{in, z}, nil
}

func (g *gunzip) Read(p []byte) (int, error) {
	n, err := g.z.Read(p)
	if err == io.EOF { //nolint:errorlint // as io.Reader has it
		err = g.next()
	}
	return n, err
}

// next begins the next stream. It returns io.EOF where nothing follows, and an
// *afterStreamError where something else does.
func (g *gunzip) next() error {
	head, err := g.in.Peek(3)
	switch {
	case len(head) == 3 && compressionOf(head) == Gzip:
		if err := g.z.Reset(g.in); err != nil {
			return err
		}
		g.z.Multistream(false)
		return nil
	case err != nil && !errors.Is(err, io.EOF):
		return err
	}
	after := afterStreamError{c: Gzip}
	zeros := true
	for {
		b, err := g.in.ReadByte()
		switch {
		case err == nil:
			after.n++
			zeros = zeros && b == 0
		case !errors.Is(err, io.EOF):
			return err
		case zeros:
			return io.EOF
		default:
			return &after
		}
	}
}

// afterStreamError says that bytes follow a compressed stream, which is whole, that
// are none of it.
type afterStreamError struct {
	c Compression
	n int64 // 0 where it is not known how many
}

func (e *afterStreamError) Error() string {
	format := e.c.String()
	switch e.n {
	case 0:
		return "bytes that are no " + format + " follow the " + format + " stream"
	case 1:
		return "1 byte that is no " + format + " follows the " + format + " stream"
	}
	return strconv.FormatInt(e.n, 10) + " bytes that are no " + format + " follow the " + format + " stream"
}

// unzstd reads zstd frames that follow one another.
type unzstd struct {
	z *zstd.Decoder
}

func (u unzstd) Read(p []byte) (int, error) {
	n, err := u.z.Read(p)
	if errors.Is(err, zstd.ErrMagicMismatch) { // the first magic was seen
		err = &afterStreamError{c: Zstd}
	}
	return n, err
}

// brokenStream says in words what reading or decompressing met.
func brokenStream(c Compression, err error) string {
	var after *afterStreamError
	switch {
	case errors.As(err, &after):
		return after.Error()
	case c == Plain:
		return "reading failed: " + err.Error()
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "the " + c.String() + " stream is cut"
	case c == Zstd && errors.Is(err, zstd.ErrWindowSizeExceeded):
		return "the zstd stream needs a window of more than 128 MiB: unpack it with zstd --long=31 first"
	}
	return "the " + c.String() + " stream is damaged: " + err.Error()
}
