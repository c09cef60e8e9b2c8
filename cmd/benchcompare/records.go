package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// records reads a capture record by record.
type records struct {
	io.Closer
	r      *bufio.Reader
	file   [fileHeader]byte
	header [recordHeader]byte
	data   []byte // of the record, valid until the next
}

func openRecords(path string) (*records, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := &records{Closer: f, r: bufio.NewReaderSize(f, 1<<20)}
	if _, err := io.ReadFull(r.r, r.file[:]); err != nil || binary.LittleEndian.Uint32(r.file[:]) != 0xa1b23c4d {
		return nil, errors.Join(errFormat, f.Close())
	}
	return r, nil
}

// next reads the next record, and returns io.EOF behind the last.
func (r *records) next() error {
	if _, err := io.ReadFull(r.r, r.header[:]); err != nil {
		return err
	}
	n := int(binary.LittleEndian.Uint32(r.header[8:]))
	if n > 1<<18 {
		return errFormat
	}
	if n > cap(r.data) {
		r.data = make([]byte, n)
	}
	r.data = r.data[:n]
	_, err := io.ReadFull(r.r, r.data)
	return err
}

// size is how many bytes the record takes in the file.
func (r *records) size() int64 { return int64(len(r.header) + len(r.data)) }

// countRecords counts the records of a capture, and their bytes.
func countRecords(path string) (n uint64, size int64, err error) {
	r, err := openRecords(path)
	if err != nil {
		return 0, 0, err
	}
	defer r.Close()
	for {
		switch err := r.next(); {
		case errors.Is(err, io.EOF):
			return n, size, nil
		case err != nil:
			return 0, 0, err
		}
		n++
		size += r.size()
	}
}

// head writes the first records of a capture, at most most, to another file.
func head(path, to string, most uint64) (n uint64, size int64, err error) {
	r, err := openRecords(path)
	if err != nil {
		return 0, 0, err
	}
	defer r.Close()
	out, err := os.Create(to)
	if err != nil {
		return 0, 0, err
	}
	w := bufio.NewWriterSize(out, 1<<20)
	_, _ = w.Write(r.file[:]) // bufio keeps the error for Flush
	for n < most {
		if err = r.next(); err != nil {
			break
		}
		_, _ = w.Write(r.header[:])
		_, _ = w.Write(r.data)
		n++
		size += r.size()
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, size, errors.Join(err, w.Flush(), out.Close())
}
