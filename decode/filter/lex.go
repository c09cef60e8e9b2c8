package filter

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// tokenKind is what a token is. Operators are told apart by their text, which
// is the sign where there is a word for it too.
type tokenKind uint8

const (
	tokEnd    tokenKind = iota
	tokOp               // an operator or a bracket
	tokWord             // a name, a number, an address: what is not in quotes
	tokString           // value is the text
	tokChar             // value is one byte
	tokRanges           // what is between [ and ], without them
)

type token struct {
	kind  tokenKind
	text  string // of an operator the sign
	value string
	// spaced says that a blank is ahead of it.
	spaced bool
	span
}

// wordOperators are the operators that are words, and their signs.
var wordOperators = map[string]string{
	"eq": "==", "any_eq": "==", "ne": "!=", "all_ne": "!=", "all_eq": "===", "any_ne": "!==",
	"gt": ">", "lt": "<", "ge": ">=", "le": "<=",
	"contains": "contains", "matches": "matches", "in": "in", "any": "any", "all": "all",
	"and": "&&", "or": "||", "not": "!", "xor": "^^", "bitand": "&", "bitwise_and": "&",
}

// signs are the operators that are signs, longer ones ahead of those that they
// begin with.
var signs = []string{
	"===", "!==", "==", "!=", "~=", ">=", "<=", "&&", "||", "^^", "..",
	">", "<", "!", "~", "&", "+", "-", "*", "/", "%", "(", ")", "{", "}", ",", "#", "@", "$",
}

// sameSign are signs that mean what another does.
var sameSign = map[string]string{"~=": "!==", "~": "matches"}

// lexer cuts a filter into tokens.
type lexer struct {
	expr string
	at   int
}

func (l *lexer) fail(s span, format string, args ...any) *Error {
	return &Error{Expr: l.expr, Off: s.off, Len: s.end - s.off, Msg: fmt.Sprintf(format, args...)}
}

// next is the next token.
func (l *lexer) next() (token, *Error) {
	start := l.at
	for l.at < len(l.expr) && strings.IndexByte(" \t\r\n\v\f", l.expr[l.at]) >= 0 {
		l.at++
	}
	t := token{spaced: l.at > start, span: span{l.at, l.at}}
	if l.at == len(l.expr) {
		return t, nil
	}
	rest := l.expr[l.at:]
	switch {
	case rest[0] == '[':
		return l.ranges(t)
	case rest[0] == '"':
		return l.quoted(t, false)
	case rest[0] == '\'':
		return l.char(t)
	case len(rest) > 1 && (rest[0] == 'r' || rest[0] == 'R') && rest[1] == '"':
		return l.quoted(t, true)
	}
	if n := wordLen(rest); n > 0 {
		l.at += n
		t.kind, t.text, t.end = tokWord, rest[:n], l.at
		if sign, ok := wordOperators[t.text]; ok {
			t.kind, t.text = tokOp, sign
		}
		return t, nil
	}
	for _, s := range signs {
		if strings.HasPrefix(rest, s) {
			l.at += len(s)
			t.kind, t.text, t.end = tokOp, s, l.at
			if same, ok := sameSign[s]; ok {
				t.text = same
			}
			return t, nil
		}
	}
	_, n := utf8.DecodeRuneInString(rest)
	t.end = l.at + n
	if rest[0] == '=' {
		return t, l.fail(t.span, "= is no operator: use == to compare")
	}
	return t, l.fail(t.span, "%q has no meaning here", rest[:n])
}

// wordLen is how long the word is that s begins with. A minus is part of a word
// that it is inside of, as in aa-bb-cc and 2026-01-31; two points never are,
// they stand between the ends of a range.
func wordLen(s string) int {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case isAlnum(c) || c == '_' || c == ':' || c >= utf8.RuneSelf:
		case c == '.':
			if i+1 < len(s) && s[i+1] == '.' || i+1 == len(s) || !isAlnum(s[i+1]) {
				return i
			}
		case c == '-' && i > 0 && i+1 < len(s) && isAlnum(s[i+1]):
		case c == '/' && i > 0 && isNetwork(s[:i]) && i+1 < len(s) && isDigit(s[i+1]):
		default:
			return i
		}
	}
	return len(s)
}

// isNetwork says whether a slash behind s is that of a network's length: it is
// where s is an address. Behind names and numbers it divides.
func isNetwork(s string) bool {
	return strings.Count(s, ":") > 1 || strings.Count(s, ".") == 3 && isDigit(s[0])
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isAlnum(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' }

// ranges takes what is between brackets as it is: [0:3], [1,3-5,9:].
func (l *lexer) ranges(t token) (token, *Error) {
	end := strings.IndexByte(l.expr[l.at:], ']')
	if end < 0 {
		return t, l.fail(span{l.at, l.at + 1}, "the bracket is not closed")
	}
	t.kind, t.text = tokRanges, l.expr[l.at+1:l.at+end]
	l.at += end + 1
	t.end = l.at
	return t, nil
}

// quoted reads a string; in a raw one, r"...", a backslash is a backslash, also
// ahead of a quote, which then does not end it.
func (l *lexer) quoted(t token, raw bool) (token, *Error) {
	t.kind = tokString
	if raw {
		l.at++
	}
	l.at++ // the quote
	var b strings.Builder
	for l.at < len(l.expr) {
		c := l.expr[l.at]
		switch {
		case c == '"':
			l.at++
			t.end, t.value = l.at, b.String()
			t.text = l.expr[t.off:t.end]
			return t, nil
		case c == '\\' && raw && l.at+1 < len(l.expr):
			b.WriteString(l.expr[l.at : l.at+2])
			l.at += 2
		case c == '\\' && !raw:
			s, err := l.escape()
			if err != nil {
				return t, err
			}
			b.WriteString(s)
		default:
			b.WriteByte(c)
			l.at++
		}
	}
	return t, l.fail(span{t.off, t.off + 1}, "the closing quote is missing")
}

// char reads a character constant.
func (l *lexer) char(t token) (token, *Error) {
	l.at++
	t.kind = tokChar
	for l.at < len(l.expr) && l.expr[l.at] != '\'' {
		if l.expr[l.at] == '\\' {
			s, err := l.escape()
			if err != nil {
				return t, err
			}
			t.value += s
			continue
		}
		t.value += l.expr[l.at : l.at+1]
		l.at++
	}
	if l.at == len(l.expr) {
		return t, l.fail(span{t.off, t.off + 1}, "the closing quote is missing")
	}
	l.at++
	t.end = l.at
	t.text = l.expr[t.off:t.end]
	if len(t.value) != 1 {
		return t, l.fail(t.span, "a character in single quotes is one byte: use double quotes for text")
	}
	return t, nil
}

// simpleEscapes are letters, each with the character behind it that it stands
// for.
const simpleEscapes = "a\ab\bf\fn\nr\rt\tv\v"

// escape reads an escape sequence, at whose backslash the lexer is.
func (l *lexer) escape() (string, *Error) {
	start := l.at
	rest := l.expr[start+1:]
	if rest == "" {
		return "", l.fail(span{start, start + 1}, "nothing follows the backslash")
	}
	c := rest[0]
	number := func(digits string, base, most int) (v rune, n int) {
		for n < most && n < len(digits) {
			d := digit(digits[n])
			if d >= base {
				break
			}
			v = v*rune(base) + rune(d)
			n++
		}
		return v, n
	}
	bad := func(n int) *Error {
		return l.fail(span{start, min(start+n, len(l.expr))}, "not an escape sequence: write \\\\ for a backslash, or r\"...\" for text as it is")
	}
	switch c {
	case '\'', '"', '\\':
		l.at += 2
		return string(c), nil
	case 'x':
		v, n := number(rest[1:], 16, 2)
		if n == 0 {
			return "", bad(2)
		}
		l.at += 2 + n
		return string([]byte{byte(v)}), nil
	case 'u', 'U':
		most := 4
		if c == 'U' {
			most = 8
		}
		v, n := number(rest[1:], 16, most)
		if n != most || !utf8.ValidRune(v) {
			return "", bad(2 + n)
		}
		l.at += 2 + n
		return string(v), nil
	}
	if c >= '0' && c <= '7' {
		v, n := number(rest, 8, 3)
		if v > 255 {
			return "", bad(1 + n)
		}
		l.at += 1 + n
		return string([]byte{byte(v)}), nil
	}
	for i := 0; i < len(simpleEscapes); i += 2 {
		if simpleEscapes[i] == c {
			l.at += 2
			return simpleEscapes[i+1 : i+2], nil
		}
	}
	return "", bad(2)
}

// digit is the value of a hexadecimal digit, and more than any for others.
func digit(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return 99
}
