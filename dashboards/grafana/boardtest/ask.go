package boardtest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/storage/engine"
)

// Row is one of an answer, by the names of its columns.
type Row map[string]any

// Number is a column of numbers, -1 where it has none.
func (r Row) Number(column string) float64 {
	n, _ := r[column].(json.Number)
	f, err := n.Float64()
	if err != nil {
		return -1
	}
	return f
}

// Text is a column of text.
func (r Row) Text(column string) string { s, _ := r[column].(string); return s }

// Answer is what ClickHouse says to a query.
type Answer struct {
	Meta       []struct{ Name, Type string }
	Data       []Row
	Statistics struct {
		Elapsed  float64
		RowsRead uint64 `json:"rows_read"`
	}
}

// Ask asks a ClickHouse, and fails where that says no.
func Ask(t testing.TB, at engine.Endpoint, sql string) *Answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at.URL()+"?output_format_json_quote_64bit_integers=0", strings.NewReader(sql+"\nFORMAT JSON"))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth(at.User, at.Password)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %.700s\n%s", resp.Status, body, sql)
	}
	var a Answer
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&a); err != nil {
		t.Fatal(err)
	}
	return &a
}
