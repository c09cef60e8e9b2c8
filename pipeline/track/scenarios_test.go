package track_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/pipeline/scenario"
)

// withRoCE are the scenarios that are of sessions. Others are of flow control.
func withRoCE() []scenario.Scenario {
	return slices.DeleteFunc(scenario.Scenarios(), func(sc scenario.Scenario) bool { return sc.FlowControl() })
}

// TestScenarios holds what is found in each simulated capture against what
// really happened in it. Where the tap can't know, the table of exceptions
// says so.
func TestScenarios(t *testing.T) {
	left := make(map[string]bool)
	for name := range exceptions {
		left[name] = true
	}
	for _, sc := range withRoCE() {
		delete(left, sc.Name)
		t.Run(sc.Name, func(t *testing.T) {
			c := simulate(t, &sc, 1)
			e := exceptions[sc.Name]
			list := judge(c.analyse(t), c.truth)
			if e.timer {
				if len(list) == 0 {
					t.Error("agrees: it need not be told what the ACK timeout is")
				}
				list = judge(c.analyseTold(t, c.truth.Sessions[0].AckTimeout), c.truth)
			}
			for _, s := range e.filter(list) {
				t.Error(s)
			}
		})
	}
	for name := range left {
		t.Errorf("an exception for %s, which is no scenario", name)
	}
}

// filter takes out the complaints that the exception is about. What it is
// about and what is no longer complained of is a complaint.
func (e exception) filter(list []string) (left []string) {
	used := make(map[string]bool)
	for _, s := range list {
		excepted := false
		for _, w := range e.what {
			if strings.Contains(s, w) {
				used[w], excepted = true, true
			}
		}
		if !excepted {
			left = append(left, s)
		}
	}
	for _, w := range e.what {
		if !used[w] {
			left = append(left, "agrees: the exception for \""+w+"\" is no longer needed")
		}
	}
	return left
}
