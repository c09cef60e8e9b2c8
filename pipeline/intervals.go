package pipeline

import "github.com/rocelens/rocelens/pipeline/record"

// intervalSink is the sink of Config, which gets intervals with what the tracker
// can't know: the names of interfaces, and the priority that the user says of
// packets without a VLAN tag. nil without a sink.
func (e *engine) intervalSink(sink func([]record.FlowInterval)) func([]record.FlowInterval) {
	if sink == nil {
		return nil
	}
	return func(list []record.FlowInterval) {
		for i := range list {
			r := &list[i]
			if !r.Tagged {
				r.Priority = e.cfg.Priorities.of(r.DSCP)
			}
			r.InterfaceName = e.interfaceName(r.Input, r.Interface)
		}
		sink(list)
	}
}

// interfaceKey is an interface of an input.
type interfaceKey struct{ input, iface int32 }

// interfaceName is what the capture calls an interface. It describes an interface
// before its first frame, and does not change it.
func (e *engine) interfaceName(input, iface int32) string {
	k := interfaceKey{input, iface}
	if name, ok := e.interfaces.Load(k); ok {
		return name.(string)
	}
	name := e.link(input, iface).Name
	e.interfaces.Store(k, name)
	return name
}
