package filter

import "testing"

// TestEscapes reads every escape sequence.
func TestEscapes(t *testing.T) {
	for in, want := range map[string]string{
		`"\a\b\f\n\r\t\v\'\"\\"`: "\a\b\f\n\r\t\v'\"\\", `"\x41\x4\101\7\u0041\U0001F600"`: "A\x04A\aA\U0001F600", `r"\x\"\\"`: `\x\"\\`, `"é"`: "é",
		`'\''`: "'", `'\x7f'`: "\x7f", `'"'`: `"`, `""`: "",
	} {
		l := lexer{expr: in}
		if tok, err := l.next(); err != nil || tok.value != want || l.at != len(in) {
			t.Errorf("%s: %q, %v", in, tok.value, err)
		}
	}
	for _, in := range []string{`"\"`, `"\x"`, `"\q"`, `"\u004"`, `"\U0011ffff"`, `"\777"`, `"\`, `'ab'`, `''`, `'`, `r"\"`} {
		l := lexer{expr: in}
		if tok, err := l.next(); err == nil {
			t.Errorf("%s is taken for %q", in, tok.value)
		}
	}
}
