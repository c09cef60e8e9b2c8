package packets

import (
	"bufio"
	"encoding/json"
	"io"
	"time"

	"github.com/rocelens/rocelens/decode"
)

// JSON writes packets as JSON in tshark's shape: an object a packet, with a
// member for each header and in it one for each field. A field with fields
// below it has them in a second member, its name with _tree behind. Names
// repeat in an object where a packet has a header or a field more than once, as
// tshark's do.
type JSON struct {
	w     *bufio.Writer
	lines bool
	some  bool
	nodes []decode.Node
	text  []byte
	line  []byte
}

// NewJSON returns a JSON that writes one array to w, indented by two spaces.
func NewJSON(w io.Writer) *JSON { return &JSON{w: bufio.NewWriterSize(w, bufferSize)} }

// NewJSONLines returns a JSON that writes an object a line, with nothing
// around them.
func NewJSONLines(w io.Writer) *JSON {
	return &JSON{w: bufio.NewWriterSize(w, bufferSize), lines: true}
}

// Write writes one packet.
func (j *JSON) Write(p *decode.Packet, x *decode.Extra) {
	x.Reset()
	j.nodes = decode.AppendTree(j.nodes[:0], x, p)
	b := j.line[:0]
	if !j.lines {
		between := "[\n"
		if j.some {
			between = ",\n"
		}
		b = append(b, between...)
	}
	j.some = true
	depth := 1
	if j.lines {
		depth = 0
	}
	o := objects{b: b, compact: j.lines, depth: depth}
	o.open()
	o.key("_index")
	o.b = append(o.b, `"packets-`...)
	o.b = time.Unix(0, p.Frame.Time).AppendFormat(o.b, "2006-01-02")
	o.b = append(o.b, '"')
	o.key("_type")
	o.b = append(o.b, `"doc"`...)
	o.key("_score")
	o.b = append(o.b, "null"...)
	o.key("_source")
	o.open()
	o.key("layers")
	o.open()
	for i := 0; i < len(j.nodes); {
		end := i + 1
		for end < len(j.nodes) && j.nodes[end].Depth > 0 {
			end++
		}
		o.key(j.nodes[i].Proto)
		j.object(&o, j.nodes[i+1:end], 1)
		i = end
	}
	o.close()
	o.close()
	o.close()
	if j.lines {
		o.b = append(o.b, '\n')
	}
	j.line = o.b
	_, _ = j.w.Write(o.b) // a bufio.Writer keeps the error for Flush
}

// object writes the nodes of one depth, and below each what follows it deeper.
func (j *JSON) object(o *objects, nodes []decode.Node, depth uint8) {
	o.open()
	for i := 0; i < len(nodes); {
		n := &nodes[i]
		end := i + 1
		for end < len(nodes) && nodes[end].Depth > depth {
			end++
		}
		if n.Field.Name != "" {
			o.key(n.Field.Name)
			j.text = n.Field.AppendJSON(j.text[:0], &n.Value)
			o.quote(j.text)
		}
		if end > i+1 {
			if n.Field.Name != "" {
				o.key(n.Field.Name, "_tree")
			} else {
				o.key(n.Field.Label)
			}
			j.object(o, nodes[i+1:end], depth+1)
		}
		i = end
	}
	o.close()
}

// Flush hands on what is buffered.
func (j *JSON) Flush() error { return j.w.Flush() }

// Close ends the array.
func (j *JSON) Close() error {
	if !j.lines {
		if !j.some {
			_, _ = j.w.WriteString("[")
		}
		_, _ = j.w.WriteString("\n]\n")
	}
	return j.w.Flush()
}

// objects appends JSON objects, indented or not.
type objects struct {
	b       []byte
	compact bool
	depth   int
	member  bool // the object that is open has a member
}

func (o *objects) open() {
	if len(o.b) == 0 || o.b[len(o.b)-1] == '\n' {
		o.indent(o.depth)
	}
	o.b = append(o.b, '{')
	o.depth++
	o.member = false
}

func (o *objects) close() {
	o.depth--
	if !o.compact && o.member {
		o.b = append(o.b, '\n')
		o.indent(o.depth)
	}
	o.b = append(o.b, '}')
	o.member = true
}

func (o *objects) indent(n int) {
	if !o.compact {
		for range n {
			o.b = append(o.b, "  "...)
		}
	}
}

// key begins a member. The name is in up to two parts.
func (o *objects) key(name string, more ...string) {
	if o.member {
		o.b = append(o.b, ',')
	}
	if !o.compact {
		o.b = append(o.b, '\n')
	}
	o.indent(o.depth)
	o.b = append(o.b, '"')
	o.b = append(o.b, name...)
	for _, m := range more {
		o.b = append(o.b, m...)
	}
	o.b = append(o.b, `":`...)
	if !o.compact {
		o.b = append(o.b, ' ')
	}
	o.member = true
}

// quote appends s as a JSON string. What needs escaping is rare: names that
// captures give their interfaces.
func (o *objects) quote(s []byte) {
	for _, c := range s {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			q, err := json.Marshal(string(s))
			if err == nil {
				o.b = append(o.b, q...)
			}
			return
		}
	}
	o.b = append(o.b, '"')
	o.b = append(o.b, s...)
	o.b = append(o.b, '"')
}
