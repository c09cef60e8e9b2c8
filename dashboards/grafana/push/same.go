package push

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
)

// same compares values of JSON. Numbers are as large as they are, however they are
// written, and a key without a value is a key that is not there.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, is := b.(map[string]any)
		if !is {
			return false
		}
		for k, v := range a {
			if !same(v, b[k]) {
				return false
			}
		}
		for k, v := range b {
			if _, both := a[k]; !both && v != nil {
				return false
			}
		}
		return true
	case []any:
		b, is := b.([]any)
		if !is || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !same(a[i], b[i]) {
				return false
			}
		}
		return true
	case json.Number:
		b, is := b.(json.Number)
		return is && (a == b || equal(a, b))
	}
	switch b.(type) {
	case map[string]any, []any, json.Number:
		return false
	}
	return a == b
}

// maxDigits bounds the numbers that are compared by their size: 1e999999999 is
// short, and fills the memory.
const maxDigits = 40

func equal(a, b json.Number) bool {
	if len(a) > maxDigits || len(b) > maxDigits || strings.ContainsAny(string(a+b), "eE") {
		x, err1 := a.Float64()
		y, err2 := b.Float64()
		return err1 == nil && err2 == nil && x == y
	}
	x, ok1 := new(big.Rat).SetString(string(a))
	y, ok2 := new(big.Rat).SetString(string(b))
	return ok1 && ok2 && x.Cmp(y) == 0
}

// asJSON is a value as it is once it was sent and read again.
func asJSON(v any) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return readJSON(data)
}

func readJSON(data []byte) (any, error) {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// content is what is in a board: all but what Grafana numbers.
func content(v any) (map[string]any, error) {
	all, is := v.(map[string]any)
	if !is {
		return nil, fmt.Errorf("a board that is %T and no object", v)
	}
	c := make(map[string]any, len(all))
	for k, v := range all {
		if k != "id" && k != "version" {
			c[k] = v
		}
	}
	return c, nil
}
