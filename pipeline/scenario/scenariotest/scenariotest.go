// Package scenariotest writes simulated traffic to files, for tests of other packages.
package scenariotest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rocelens/rocelens/pipeline/scenario"
)

// File writes the scenario of a name, as it is without options, to a pcapng file that
// goes with the test.
func File(t testing.TB, name string) (path string, truth *scenario.Truth) {
	t.Helper()
	sc, err := scenario.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return Write(t, &sc, scenario.Options{Seed: 1})
}

// Write is File with a scenario that is at hand, and with options.
func Write(t testing.TB, sc *scenario.Scenario, o scenario.Options) (path string, truth *scenario.Truth) {
	t.Helper()
	path = filepath.Join(t.TempDir(), sc.Name+".pcapng")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	truth, err = sc.Write(f, o, scenario.PcapNG, "")
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return path, truth
}

// Small are options that keep a scenario short, whatever it takes.
func Small(sc *scenario.Scenario) scenario.Options {
	o := scenario.Options{Seed: 1}
	for _, x := range sc.Takes {
		switch x {
		case scenario.OptSessions:
			o.Sessions = 20
		case scenario.OptPackets:
			o.Packets = 3000
		}
	}
	return o
}

// Files writes all scenarios, each kept short: the paths by their names.
func Files(t testing.TB) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, sc := range scenario.Scenarios() {
		all[sc.Name], _ = Write(t, &sc, Small(&sc))
	}
	return all
}
