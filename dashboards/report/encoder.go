package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// encoder appends JSON to a buffer, with the bytes that encoding/json makes
// when it indents by two spaces. A report can have a million sessions, and to
// find out by reflection what is in each takes ten times as long.
type encoder struct {
	b     []byte
	depth int
	begun bool // the object or array that is open holds something
	err   error
}

// margin is as much as an encoder indents.
const margin = "                                "

func (e *encoder) line() {
	e.b = append(e.b, '\n')
	e.b = append(e.b, margin[:2*e.depth]...)
}

// open opens an object or an array, and shut closes it.
func (e *encoder) open(bracket byte) {
	e.b = append(e.b, bracket)
	e.depth++
	e.begun = false
}

func (e *encoder) shut(bracket byte) {
	e.depth--
	if e.begun {
		e.line()
	}
	e.b = append(e.b, bracket)
	e.begun = true
}

// begin opens an object.
func (e *encoder) begin() { e.open('{') }

// end closes the object that is open.
func (e *encoder) end() { e.shut('}') }

// element begins an element of the array that is open.
func (e *encoder) element() {
	if e.begun {
		e.b = append(e.b, ',')
	}
	e.begun = true
	e.line()
}

// key begins a member of the object that is open. It is a word that needs no
// escapes.
func (e *encoder) key(key string) {
	e.element()
	e.b = append(e.b, '"')
	e.b = append(e.b, key...)
	e.b = append(e.b, '"', ':', ' ')
}

// object begins a member that is an object; end closes it.
func (e *encoder) object(key string) {
	e.key(key)
	e.begin()
}

// array begins a member that is an array; endArray closes it.
func (e *encoder) array(key string) {
	e.key(key)
	e.open('[')
}

func (e *encoder) endArray() { e.shut(']') }

func (e *encoder) null(key string) {
	e.key(key)
	e.b = append(e.b, "null"...)
}

func (e *encoder) uint(key string, v uint64) {
	e.key(key)
	e.b = strconv.AppendUint(e.b, v, 10)
}

func (e *encoder) int(key string, v int64) {
	e.key(key)
	e.b = strconv.AppendInt(e.b, v, 10)
}

func (e *encoder) bool(key string, v bool) {
	e.key(key)
	e.b = strconv.AppendBool(e.b, v)
}

// knownInt is null where v is 0, which stands for not known.
func (e *encoder) knownInt(key string, v int64) {
	if v == 0 {
		e.null(key)
		return
	}
	e.int(key, v)
}

func (e *encoder) string(key, v string) {
	e.key(key)
	for i := range len(v) {
		if c := v[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			e.encode(v)
			return
		}
	}
	e.b = append(e.b, '"')
	e.b = append(e.b, v...)
	e.b = append(e.b, '"')
}

// knownString is null where v is empty.
func (e *encoder) knownString(key, v string) {
	if v == "" {
		e.null(key)
		return
	}
	e.string(key, v)
}

// ratio is a number from 0 to 1.
func (e *encoder) ratio(key string, v float64) {
	e.key(key)
	e.b = strconv.AppendFloat(e.b, v, 'f', -1, 64)
}

// frame is newFrame's, as encoding/json writes it.
func (e *encoder) frame(key string, f *Frame) {
	e.object(key)
	e.int("input", int64(f.Input))
	e.uint("number", f.Number)
	e.int("time", f.Time)
	e.int("offset", f.Offset)
	e.end()
}

// value is any other, by way of encoding/json. The first error stays.
func (e *encoder) value(key string, v any) {
	e.key(key)
	e.encode(v)
}

func (e *encoder) encode(v any) {
	buf := bytes.NewBuffer(e.b)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent(margin[:2*e.depth], "  ")
	if err := enc.Encode(v); err != nil && e.err == nil {
		e.err = fmt.Errorf("encoding the report: %w", err)
	}
	e.b = bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}
