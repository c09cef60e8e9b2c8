package capture

import (
	"bufio"
	"errors"
	"io"

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
		z, err := gzip.NewReader(bufio.NewReaderSize(r, readChunk))
		return z, nil, err
	}
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, nil, err
	}
	return z, z.Close, nil
}

// brokenStream says in words what reading or decompressing met.
func brokenStream(c Compression, err error) string {
	switch {
	case c == Plain:
		return "reading failed: " + err.Error()
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "the " + c.String() + " stream is cut"
	case c == Zstd && errors.Is(err, zstd.ErrWindowSizeExceeded):
		return "the zstd stream needs a window of more than 128 MiB: unpack it with zstd --long=31 first"
	}
	return "the " + c.String() + " stream is damaged: " + err.Error()
}
