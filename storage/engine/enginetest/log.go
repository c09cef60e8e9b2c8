package enginetest

import (
	"bytes"
	"sync"
)

// Log keeps what is written to it by several goroutines, or by a process, and can be
// read meanwhile. The zero value is ready.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
