package packets

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/decode"
)

// FieldsOptions are tshark's -E options.
type FieldsOptions struct {
	Header     bool // a first line with the fields' names
	BOM        bool // a byte order mark before everything
	Separator  byte // between fields
	Aggregator byte // between several values of one field
	Occurrence byte // a all values, f the first, l the last
	Quote      byte // around each field, 0 for none
}

// DefaultFieldsOptions are tshark's.
func DefaultFieldsOptions() FieldsOptions {
	return FieldsOptions{Separator: '\t', Aggregator: ',', Occurrence: 'a'}
}

// Set takes one option as tshark's -E does: header=y, separator=/t, occurrence=f.
func (o *FieldsOptions) Set(s string) error {
	key, value, ok := strings.Cut(s, "=")
	if !ok || value == "" {
		return fmt.Errorf("%q: an option is NAME=VALUE, as in header=y", s)
	}
	yes := func(to *bool) error {
		if value[0] != 'y' && value[0] != 'n' {
			return fmt.Errorf("%s=%s: use y or n", key, value)
		}
		*to = value[0] == 'y'
		return nil
	}
	// Of a value the first character counts, as with tshark: / and what is
	// neither t nor s is a backslash there.
	char := func(to *byte) error {
		*to = value[0]
		switch {
		case value[0] >= utf8.RuneSelf:
			return fmt.Errorf("%s=%s: use an ASCII character, /t for a tab or /s for a space", key, value)
		case strings.HasPrefix(value, "/t"):
			*to = '\t'
		case strings.HasPrefix(value, "/s"):
			*to = ' '
		case value[0] == '/':
			*to = '\\'
		}
		return nil
	}
	one := func(to *byte, of string, as ...byte) error {
		if i := strings.IndexByte(of, value[0]); i >= 0 {
			*to = as[i]
			return nil
		}
		return fmt.Errorf("%s=%s: use one of %s", key, value, strings.Join(strings.Split(of, ""), ", "))
	}
	switch key {
	case "header":
		return yes(&o.Header)
	case "bom":
		return yes(&o.BOM)
	case "separator":
		return char(&o.Separator)
	case "aggregator":
		return char(&o.Aggregator)
	case "occurrence":
		return one(&o.Occurrence, "afl", 'a', 'f', 'l')
	case "quote":
		return one(&o.Quote, "dsn", '"', '\'', 0)
	}
	return fmt.Errorf("unknown option %q: use header, separator, aggregator, occurrence, quote or bom", key)
}

// Fields writes chosen fields, one packet a line, as tshark -T fields does.
type Fields struct {
	w      *bufio.Writer
	opt    FieldsOptions
	fields []*decode.Field
	values []decode.Value
	line   []byte
}

// NewFields returns a Fields that writes those with the given names to w.
func NewFields(w io.Writer, names []string, opt FieldsOptions) (*Fields, error) {
	if len(names) == 0 {
		return nil, errors.New("no field was named: use -e FIELD, as in -e frame.number -e infiniband.bth.psn")
	}
	f := &Fields{w: bufio.NewWriterSize(w, bufferSize), opt: opt}
	var unknown []string
	for _, name := range names {
		field := decode.FieldByName(name)
		if field == nil && !slices.Contains(unknown, name) {
			unknown = append(unknown, name)
		}
		f.fields = append(f.fields, field)
	}
	if len(unknown) > 0 {
		return nil, unknownFields(unknown)
	}
	if opt.BOM {
		_, _ = f.w.WriteString("\ufeff")
	}
	if opt.Header {
		_, _ = f.w.WriteString(strings.Join(names, string(rune(opt.Separator))) + "\n")
	}
	return f, nil
}

// unknownField says of a name that is no field what to use instead.
func unknownField(name string) string {
	if s := protocolOnly(name); s != "" {
		return s
	}
	if near := decode.NearestField(name); near != "" {
		return fmt.Sprintf("unknown field %s: did you mean %s?", capture.Quoted(name), near)
	}
	return fmt.Sprintf("unknown field %s: rocelens fields lists those there are", capture.Quoted(name))
}

// NeedICRC says whether a field tells the result of VerifyICRC, so that it must
// be called.
func (f *Fields) NeedICRC() bool {
	for _, field := range f.fields {
		switch field.Name {
		case "infiniband.icrc.status", "infiniband.icrc.expected", "infiniband.vcrc.status":
			return true
		}
	}
	return false
}

// Write writes one packet.
func (f *Fields) Write(p *decode.Packet, x *decode.Extra) {
	x.Reset()
	b := f.line[:0]
	plain := f.opt.Occurrence == 'a' && f.opt.Quote == 0
	for i, field := range f.fields {
		if i > 0 {
			b = append(b, f.opt.Separator)
		}
		if plain {
			b = field.AppendAll(b, f.opt.Aggregator, x, p)
			continue
		}
		f.values = field.Append(f.values[:0], x, p)
		values := f.values
		if len(values) == 0 {
			continue
		}
		switch f.opt.Occurrence {
		case 'f':
			values = values[:1]
		case 'l':
			values = values[len(values)-1:]
		}
		if f.opt.Quote != 0 {
			b = append(b, f.opt.Quote)
		}
		for j := range values {
			if j > 0 {
				b = append(b, f.opt.Aggregator)
			}
			b = field.AppendRaw(b, &values[j])
		}
		if f.opt.Quote != 0 {
			b = append(b, f.opt.Quote)
		}
	}
	b = append(b, '\n')
	f.line = b
	_, _ = f.w.Write(b) // a bufio.Writer keeps the error for Flush
}

// Flush hands on what is buffered.
func (f *Fields) Flush() error { return f.w.Flush() }

// Close ends the lines.
func (f *Fields) Close() error { return f.w.Flush() }
