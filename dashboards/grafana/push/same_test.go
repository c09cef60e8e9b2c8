package push

import "testing"

// TestSame: what JSON writes otherwise and means the same is the same, and nothing else.
func TestSame(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[true,"x",null]}`, `{"b":[true,"x",null],"a":1}`, true},
		{`{"a":1.0}`, `{"a":1}`, true},
		{`{"a":100}`, `{"a":1e2}`, true},
		{`{"a":0.1}`, `{"a":0.10000000000000000001}`, false},
		{`9007199254740993`, `9007199254740992`, false},
		{`1e999999999`, `1e999999998`, false},
		{`1e999999999`, `1e999999999`, true},
		{`{"a":null}`, `{}`, true},
		{`{}`, `{"a":null}`, true},
		{`{"a":null}`, `{"a":false}`, false},
		{`{"a":{}}`, `{}`, false},
		{`{}`, `{"a":0}`, false},
		{`{"a":1}`, `{"b":1}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[1]`, `[1,null]`, false},
		{`[]`, `{}`, false},
		{`"1"`, `1`, false},
		{`1`, `"1"`, false},
		{`true`, `1`, false},
		{`"a"`, `{"a":"a"}`, false},
		{`null`, `[]`, false},
		{`"a"`, `"a"`, true},
	} {
		a, err1 := readJSON([]byte(c.a))
		b, err2 := readJSON([]byte(c.b))
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if same(a, b) != c.want || same(b, a) != c.want {
			t.Errorf("%s and %s: %v, and the other way round %v", c.a, c.b, same(a, b), same(b, a))
		}
	}
}

// TestContent: what Grafana numbers is no content, and does not change its sum.
func TestContent(t *testing.T) {
	sums := map[string]bool{}
	for _, text := range []string{`{"title":"x","uid":"u"}`, `{"version":3,"uid":"u","id":7,"title":"x"}`} {
		v, err := readJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		c, err := content(v)
		if err != nil {
			t.Fatal(err)
		}
		s, err := sum(c)
		if err != nil {
			t.Fatal(err)
		}
		if !mark.MatchString(markBegin + s) {
			t.Errorf("%q is no mark", s)
		}
		sums[s] = true
	}
	if len(sums) != 1 {
		t.Errorf("%v", sums)
	}
	if _, err := content([]any{}); err == nil {
		t.Error("a list is a board")
	}
}
