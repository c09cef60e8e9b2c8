package packets

import (
	"strings"
	"testing"
)

func TestHexDump(t *testing.T) {
	data := make([]byte, 0x10012)
	copy(data, "GET / HTTP/1.1\r\n\x7f~ ")
	got := strings.Split(string(appendHexDump(nil, data)), "\n")
	for i, want := range map[int]string{
		0:      "0000  47 45 54 20 2f 20 48 54  54 50 2f 31 2e 31 0d 0a  GET / HTTP/1.1..",
		1:      "0010  7f 7e 20 00 00 00 00 00  00 00 00 00 00 00 00 00  .~ .............",
		0xfff:  "fff0  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  ................",
		0x1000: "10000  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  ................",
		0x1001: "10010  00 00                                             ..",
	} {
		if got[i] != want {
			t.Errorf("line %d is\n%s, want\n%s", i, got[i], want)
		}
	}
	if len(appendHexDump(nil, nil)) != 0 {
		t.Error("no bytes give a line")
	}
}

func TestColumnsIgnoreOutliers(t *testing.T) {
	var l lengths
	for range 95 {
		l.add(9)
	}
	for range 5 {
		l.add(25)
	}
	if got := l.most(); got != 9 {
		t.Errorf("5 of 100 make the column %d wide", got)
	}
	l.add(25)
	if got := l.most(); got != 25 {
		t.Errorf("6 of 101 leave the column %d wide", got)
	}
	var huge lengths
	huge.add(1000)
	if got := huge.most(); got != 63 {
		t.Errorf("%d", got)
	}
	var none lengths
	if got := none.most(); got != 0 {
		t.Errorf("nothing is %d wide", got)
	}
}
