package record

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Finding is a conclusion that an engineer can act on.
type Finding struct {
	Severity Severity
	// Code says what kind of finding it is, in kebab-case. Codes are a
	// contract, and docs/findings.md lists them.
	Code string
	// Title is one sentence: what is wrong, and how much of it. It ends
	// without a full stop.
	Title string
	// Detail says what it means and what to check next, in sentences. Neither
	// wording is a contract.
	Detail   string
	Evidence Evidence
	// Sessions are the ids of the sessions that it is about.
	Sessions []string
	// Related are other findings of the same analysis that it has to do with,
	// each with what shows it.
	Related []Related
}

// Related is another finding.
type Related struct {
	Code     string   `json:"code"`
	Relation Relation `json:"relation"`
	// Why is what shows it, in a few words: "21 of 21 tries".
	Why string `json:"why"`
}

// Relation is what another finding is to one.
type Relation uint8

// The relations.
const (
	ExplainedBy Relation = iota // the other one is a cause of it
	Explains                    // it is a cause of the other one
	SeeAlso                     // both are about the same
)

func (r Relation) String() string { return [...]string{"explained_by", "explains", "see_also"}[r] }

// MarshalText is the name.
func (r Relation) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Severity is how much a finding matters.
type Severity uint8

// The severities. The zero value is none of them.
const (
	_        Severity = iota
	Info              // good to know when reading the report
	Warning           // something is wrong, or the capture does not show what it should
	Critical          // traffic is being harmed
)

// severities are the names, by number less one.
var severities = [...]string{"info", "warning", "critical"}

// SeverityNames are all severities, the least first.
func SeverityNames() []string { return append([]string(nil), severities[:]...) }

// ParseSeverity is the severity of a name.
func ParseSeverity(s string) (Severity, error) {
	for i, name := range severities {
		if s == name {
			return Severity(i + 1), nil
		}
	}
	return 0, fmt.Errorf("unknown severity %q: use %s", s, strings.Join(severities[:], ", "))
}

func (s Severity) String() string {
	if s < Info || s > Critical {
		return "none"
	}
	return severities[s-1]
}

// MarshalText is the name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Evidence is what a finding rests on: keys in snake_case with their values,
// in an order that suits a reader. It is an object in JSON.
type Evidence []Fact

// Fact is one piece of evidence. Value is a uint64, a float64 (a share, 0 to
// 1), an int64, a bool, a string, a FrameRef, a list of strings or numbers, or
// Evidence and lists of it.
type Fact struct {
	Key   string
	Value any
}

// Get finds the value of a key, nil where there is none.
func (e Evidence) Get(key string) any {
	for _, f := range e {
		if f.Key == key {
			return f.Value
		}
	}
	return nil
}

// MarshalJSON writes an object that keeps the order.
func (e Evidence) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, f := range e {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendQuote(b, f.Key)
		b = append(b, ':')
		v, err := json.Marshal(f.Value)
		if err != nil {
			return nil, fmt.Errorf("evidence %s: %w", f.Key, err)
		}
		b = append(b, v...)
	}
	return append(b, '}'), nil
}
