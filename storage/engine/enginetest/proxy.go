package enginetest

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy is a way to a server that a test can close, or make slow.
type Proxy struct {
	l     net.Listener
	conns sync.WaitGroup

	mu     sync.Mutex
	to     string
	refuse bool
	delay  time.Duration
	open   map[net.Conn]bool
}

// NewProxy returns a proxy for the time of the test, that refuses connections
// until it is told where to go.
func NewProxy(t testing.TB) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{l: l, refuse: true, open: make(map[net.Conn]bool)}
	p.conns.Go(p.accept)
	t.Cleanup(func() {
		l.Close()
		p.Refuse(true)
		p.conns.Wait()
	})
	return p
}

// Addr is where it listens.
func (p *Proxy) Addr() string { return p.l.Addr().String() }

// To says where it goes to.
func (p *Proxy) To(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to, p.refuse = addr, false
}

// Refuse ends all connections and each that comes, or lets them come again.
func (p *Proxy) Refuse(yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = yes
	if yes {
		for c := range p.open {
			c.Close()
		}
	}
}

// What a connection through a Proxy takes of the process that has both the Proxy and
// the client.
const (
	ProxiedGoroutines  = 2
	ProxiedDescriptors = 3
)

// Open is how many connections there are.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open) / 2
}

// Delay makes each answer of the server come so much later.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

func (p *Proxy) accept() {
	for {
		c, err := p.l.Accept()
		if err != nil {
			return
		}
		p.conns.Go(func() { p.pass(c) })
	}
}

// keep remembers a connection, and says whether it may be.
func (p *Proxy) keep(c net.Conn) (to string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refuse {
		return "", false
	}
	p.open[c] = true
	return p.to, true
}

func (p *Proxy) end(c net.Conn) {
	c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
}

// pass carries one connection.
func (p *Proxy) pass(c net.Conn) {
	defer p.end(c)
	to, ok := p.keep(c)
	if !ok {
		return
	}
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer p.end(server)
	if _, ok := p.keep(server); !ok {
		return
	}
	var asks sync.WaitGroup
	asks.Go(func() {
		// Neither is a connection for Copy, which would open a pipe between them.
		_, _ = io.Copy(struct{ io.Writer }{server}, struct{ io.Reader }{c})
		server.Close()
	})
	defer asks.Wait()
	defer c.Close()
	b := make([]byte, 32<<10)
	for {
		n, err := server.Read(b)
		if n > 0 {
			p.mu.Lock()
			d := p.delay
			p.mu.Unlock()
			time.Sleep(d)
			if _, err := c.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
