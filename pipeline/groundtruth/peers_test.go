package groundtruth_test

import (
	"encoding/binary"
	"encoding/json"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/decode"
)

// qp is a queue pair of a host. Addresses differ between the views of one run
// (a VLAN, an overlay), host numbers do not.
type qp struct {
	host string
	qpn  uint32
}

// peers are the connections of a capture, each QP with the ones that it was
// connected to in turn.
type peers map[qp]map[qp]bool

func (p peers) connect(a, b qp) {
	for _, e := range [][2]qp{{a, b}, {b, a}} {
		if p[e[0]] == nil {
			p[e[0]] = make(map[qp]bool)
		}
		p[e[0]][e[1]] = true
	}
}

// The programs print QPNs each in a way of its own: perftest as lines of local
// and remote addresses with GIDs in decimal bytes, ours as JSON.
var (
	perftestQP = regexp.MustCompile(`(local|remote) address: LID \S+ QPN 0x([0-9a-f]+) .*\n? *GID: ([0-9:]+)`)
	ownConn    = regexp.MustCompile(`"lqpn":(\d+),"lpsn":\d+,"rqpn":(\d+)`)
)

// connections is what the programs printed and the kernel listed. Captures of
// programs that print nothing have CM's messages: see cmPeers.
func connections(tb testing.TB, t *truth) peers {
	tb.Helper()
	p := make(peers)
	for _, c := range commands(tb, t.Commands) {
		var local, remote []qp
		for _, m := range perftestQP.FindAllStringSubmatch(c.Out, -1) {
			q := qp{host(gid(tb, m[3])), number(tb, m[2], 16)}
			if m[1] == "local" {
				local = append(local, q)
			} else {
				remote = append(remote, q)
			}
		}
		for i := range min(len(local), len(remote)) {
			p.connect(local[i], remote[i])
		}
		// Ours runs between two hosts, A and B.
		other := map[string]string{"A": "B", "B": "A"}[c.VM]
		for _, m := range ownConn.FindAllStringSubmatch(c.Out, -1) {
			p.connect(qp{c.VM, number(tb, m[1], 10)}, qp{other, number(tb, m[2], 10)})
		}
	}
	return p
}

// command is a program that ran.
type command struct{ VM, Out string }

// commands are an object by role or a list.
func commands(tb testing.TB, raw json.RawMessage) []command {
	tb.Helper()
	var list []command
	if json.Unmarshal(raw, &list) == nil {
		return list
	}
	var byRole map[string]command
	if err := json.Unmarshal(raw, &byRole); err != nil {
		return nil // in some captures text stands among them
	}
	for _, c := range byRole {
		list = append(list, c)
	}
	return list
}

func number(tb testing.TB, s string, base int) uint32 {
	tb.Helper()
	n, err := strconv.ParseUint(s, base, 32)
	if err != nil {
		tb.Fatal(err)
	}
	return uint32(n)
}

// gid reads a GID as 16 decimal bytes.
func gid(tb testing.TB, s string) netip.Addr {
	tb.Helper()
	var b [16]byte
	parts := strings.Split(s, ":")
	if len(parts) != len(b) {
		tb.Fatalf("GID %s", s)
	}
	for i, p := range parts {
		b[i] = byte(number(tb, p, 10))
	}
	return netip.AddrFrom16(b).Unmap()
}

// kernelPeers is what the kernel listed while MPI programs ran: it names the
// QPN of the other end and not its host.
func kernelPeers(t *truth) map[qp]uint32 {
	var during struct {
		QPs []struct {
			Host string
			Type string
			QPN  uint32  `json:"qpn"`
			Peer *uint32 `json:"peer_qpn"`
		}
	}
	if json.Unmarshal(t.During, &during) != nil {
		return nil
	}
	m := make(map[qp]uint32)
	for _, q := range during.QPs {
		if q.Type == "RC" && q.Peer != nil {
			m[qp{q.Host, q.QPN}] = *q.Peer
		}
	}
	return m
}

// cmPeers reads REQ and REP of CM from the frames: the QPNs of both, which
// local and remote communication ids hold together.
func cmPeers(e *edited) peers {
	const (
		mad       = 8 + 12 + 8 // after UDP, BTH and DETH
		attribute = 16
		body      = 24
		req, rep  = 0x10, 0x13
	)
	type asker struct {
		host string
		id   uint32
	}
	asked := make(map[asker]uint32)
	p := make(peers)
	for i := range e.frames {
		f := &e.frames[i]
		l, ok := f.pkt.Layer(decode.LayerUDP)
		if !f.cm() || !ok || len(f.Data) < int(l.Off)+mad+256 {
			continue
		}
		m := f.Data[int(l.Off)+mad:]
		from, to := host(f.pkt.Src.IP().Unmap()), host(f.pkt.Dst.IP().Unmap())
		local, remote := binary.BigEndian.Uint32(m[body:]), binary.BigEndian.Uint32(m[body+4:])
		switch binary.BigEndian.Uint16(m[attribute:]) {
		case req:
			asked[asker{from, local}] = binary.BigEndian.Uint32(m[body+32:]) >> 8
		case rep:
			if n, ok := asked[asker{to, remote}]; ok {
				p.connect(qp{to, n}, qp{from, binary.BigEndian.Uint32(m[body+12:]) >> 8})
			}
		}
	}
	return p
}
