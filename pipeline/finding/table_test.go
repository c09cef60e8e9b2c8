package finding

import "testing"

// TestTable: each code of docs/findings.md has its rule, and each rule its code. That
// on flow control is none: it follows from other findings.
func TestTable(t *testing.T) {
	n := make(map[string]int)
	for i := range rules {
		n[rules[i].code]++
	}
	for _, c := range Codes() {
		want := 1
		if c.Code == "pfc-not-visible" {
			want = 0
		}
		if n[c.Code] != want {
			t.Errorf("%d rules for %s, want %d", n[c.Code], c.Code, want)
		}
		delete(n, c.Code)
	}
	for code := range n {
		t.Errorf("%s is not in the table of codes", code)
	}
}

// OneCode fails where a rule yields findings of another code than the table says.
func OneCode(t *testing.T, f *Facts) {
	t.Helper()
	g := f.prepared()
	for i := range rules {
		for _, x := range rules[i].find(g) {
			if x.Code != rules[i].code {
				t.Errorf("the rule of %s yields %s", rules[i].code, x.Code)
			}
		}
	}
}
