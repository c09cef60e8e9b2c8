package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rocelens/rocelens/capture"
)

// Options are what can be asked of a scenario. Each takes only some of them.
type Options struct {
	Seed     uint64  // of everything that is left to chance
	Sessions int     // 0 is the scenario's own
	Packets  int     // likewise, about so many
	Payload  int     // bytes in a packet
	Loss     float64 // share of packets that are lost
	Snaplen  int     // bytes kept of a frame, 0 for all
}

// Option names an option in a scenario's list.
type Option string

// The options that only some scenarios take.
const (
	OptSessions Option = "sessions"
	OptPackets  Option = "packets"
	OptPayload  Option = "payload"
	OptLoss     Option = "loss"
)

// Scenario is one entry of the list.
type Scenario struct {
	Name  string
	About string // one line
	Takes []Option

	spec func(Options) *Spec
	bulk *bulk // a large one, which has machines of its own

	pauses *pauses // one of flow control, likewise
}

// FlowControl says whether the scenario is about PFC and PAUSE frames, which
// are no RoCE.
func (sc *Scenario) FlowControl() bool { return sc.pauses != nil }

// Interfaces are those that its frames are captured on.
func (sc *Scenario) Interfaces(snaplen int) []capture.Interface {
	if sc.pauses != nil {
		return sc.pauses.interfaces(snaplen)
	}
	return []capture.Interface{{
		Name: "tap0", Description: "simulated tap", Link: capture.LinkEthernet, SnapLen: uint32(snaplen), FCSLen: -1, TSResol: 9,
	}}
}

// Scenarios lists what there is, in the order of the documentation.
func Scenarios() []Scenario {
	return slices.Concat(cleanScenarios(), lossScenarios(), repairScenarios(), congestionScenarios(), limitScenarios(), refusalScenarios(),
		tapScenarios(), lifeScenarios(), driftScenarios(), pauseScenarios(), bulkScenarios())
}

// Find finds a scenario by its name.
func Find(name string) (Scenario, error) {
	all := Scenarios()
	for _, s := range all {
		if s.Name == name {
			return s, nil
		}
	}
	var near []string
	for _, s := range all {
		if name != "" && (strings.HasPrefix(s.Name, name) || strings.Contains(s.Name, name)) {
			near = append(near, s.Name)
		}
	}
	if len(near) > 0 {
		return Scenario{}, fmt.Errorf("there is no scenario %q; there is %s", name, strings.Join(near, ", "))
	}
	return Scenario{}, fmt.Errorf("there is no scenario %q", name)
}

// Check refuses options that the scenario does not take.
func (sc *Scenario) Check(o Options) error {
	for _, x := range []struct {
		opt Option
		set bool
	}{
		{OptSessions, o.Sessions != 0}, {OptPackets, o.Packets != 0}, {OptPayload, o.Payload != 0}, {OptLoss, o.Loss != 0},
	} {
		if x.set && !slices.Contains(sc.Takes, x.opt) {
			return fmt.Errorf("scenario %s has no %s to set", sc.Name, x.opt)
		}
	}
	switch {
	case o.Sessions < 0 || o.Packets < 0 || o.Payload < 0 || o.Snaplen < 0:
		return fmt.Errorf("negative numbers mean nothing here")
	case o.Payload > maxMTU:
		return fmt.Errorf("a packet has at most %d bytes of payload", maxMTU)
	case o.Loss < 0 || o.Loss >= 1:
		return fmt.Errorf("a loss of %g is not a share: use 0.01 for one packet in a hundred", o.Loss)
	case o.Sessions > maxSessions:
		return fmt.Errorf("at most %d sessions have QPNs of their own here", maxSessions)
	}
	return nil
}

const (
	maxMTU      = 4096
	maxSessions = 4_000_000
)

// Spec is what the scenario simulates, nil for the large ones and those of flow
// control.
func (sc *Scenario) Spec(o Options) (*Spec, error) {
	if err := sc.Check(o); err != nil {
		return nil, err
	}
	if sc.spec == nil {
		return nil, nil //nolint:nilnil // as the comment says
	}
	spec := sc.spec(o)
	spec.Name, spec.Seed = sc.Name, o.Seed
	if o.Snaplen != 0 {
		spec.Tap.Snaplen = o.Snaplen
	}
	return spec, nil
}

// Run writes the scenario's frames to sink and returns the truth.
func (sc *Scenario) Run(o Options, sink Sink) (*Truth, error) {
	spec, err := sc.Spec(o)
	if err != nil {
		return nil, err
	}
	var t *Truth
	switch {
	case sc.pauses != nil:
		t, err = sc.pauses.run(sc.Name, o, sink)
	case spec == nil:
		t, err = sc.bulk.run(sc.Name, o, sink)
	default:
		t, err = Run(spec, sink)
	}
	if err != nil {
		return nil, err
	}
	t.About = sc.About
	return t, nil
}
