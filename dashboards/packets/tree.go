package packets

import (
	"bufio"
	"io"
	"strconv"

	"github.com/rocelens/rocelens/decode"
)

// Tree writes each packet as a tree: a heading for each header, its fields
// below it, an empty line behind the packet.
type Tree struct {
	w     *bufio.Writer
	opt   ListOptions
	nodes []decode.Node
	line  []byte
}

// NewTree returns a Tree that writes to w.
func NewTree(w io.Writer, opt ListOptions) *Tree {
	return &Tree{w: bufio.NewWriterSize(w, bufferSize), opt: opt}
}

// Write writes one packet.
func (t *Tree) Write(p *decode.Packet, x *decode.Extra) {
	x.Reset()
	t.nodes = decode.AppendTree(t.nodes[:0], x, p)
	b := t.line[:0]
	for i := range t.nodes {
		n := &t.nodes[i]
		if n.Hidden {
			continue
		}
		paint := ""
		if t.opt.Color {
			paint = nodeColor(n)
			b = append(b, paint...)
		}
		for range n.Depth {
			b = append(b, "    "...)
		}
		if n.Proto != "frame" {
			b = n.AppendText(b)
		} else {
			b = append(b, "Frame "...)
			if t.opt.Several {
				b = append(strconv.AppendInt(b, int64(p.Frame.Input)+1, 10), ':')
			}
			b = strconv.AppendUint(b, p.Frame.Number, 10)
			b = append(b, ": "...)
			b = strconv.AppendUint(b, uint64(p.WireLen), 10)
			b = append(b, " bytes on the wire, "...)
			b = strconv.AppendInt(b, int64(len(p.Data)), 10)
			b = append(b, " bytes captured"...)
		}
		if paint != "" {
			b = append(b, colorReset...)
		}
		b = append(b, '\n')
	}
	b = append(b, '\n')
	if t.opt.Hex {
		b = append(appendHexDump(b, p.Data), '\n')
	}
	t.line = b
	_, _ = t.w.Write(b) // a bufio.Writer keeps the error for Flush
}

// nodeColor paints headings, so that headers are found at a glance, and what is
// wrong.
func nodeColor(n *decode.Node) string {
	const bold = "\x1b[1m"
	switch {
	case n.Field == nil:
		return bold
	case n.Field.Name == "infiniband.icrc.expected", n.Field.Name == "rocelens.error",
		(n.Field.Name == "rocelens.malformed" || n.Field.Name == "infiniband.bth.becn" || n.Field.Name == "infiniband.bth.fecn") && n.Value.Num != 0:
		return colorRed
	}
	return ""
}

// Flush hands on what is buffered.
func (t *Tree) Flush() error { return t.w.Flush() }

// Close ends the trees.
func (t *Tree) Close() error { return t.w.Flush() }
