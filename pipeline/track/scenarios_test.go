package track_test

import (
	"testing"

	"github.com/rocelens/rocelens/pipeline/scenario"
)

// TestScenarios holds what is found in each simulated capture against what
// really happened in it.
func TestScenarios(t *testing.T) {
	for _, sc := range scenario.Scenarios() {
		t.Run(sc.Name, func(t *testing.T) {
			c := simulate(t, &sc, 1)
			for _, s := range judge(c.analyse(t), c.truth) {
				t.Error(s)
			}
		})
	}
}
