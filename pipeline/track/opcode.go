package track

import (
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline/record"
)

// opClass is what an operation means to the tracker.
type opClass uint8

const (
	classOther    opClass = iota // not known, or of no session
	classRequest                 // takes one PSN
	classOwing                   // takes PSNs that responses will have: READ, atomics, FLUSH
	classResponse                // READ response or atomic acknowledge
	classAck
)

// part is where a packet stands in its message: notFirst and notLast are bits of it.
type part uint8

const (
	notFirst part = 1 << iota
	notLast

	partOnly   part = 0
	partFirst       = notLast
	partMiddle      = notFirst | notLast
	partLast        = notFirst
)

// operation is a row of the table of operations.
type operation struct {
	class opClass
	part  part
	kind  record.MessageKind
	// reth says that the packet tells where it reads or writes.
	reth bool
}

func (o *operation) begins() bool { return o.part&notFirst == 0 }
func (o *operation) ends() bool   { return o.part&notLast == 0 }

// operations are those of RC, UC, RD and XRC by the opcode's lower five bits.
var operations = [32]operation{
	0x00: {classRequest, partFirst, record.Send, false},
	0x01: {classRequest, partMiddle, record.Send, false},
	0x02: {classRequest, partLast, record.Send, false},
	0x03: {classRequest, partLast, record.Send, false},
	0x04: {classRequest, partOnly, record.Send, false},
	0x05: {classRequest, partOnly, record.Send, false},
	0x06: {classRequest, partFirst, record.Write, true},
	0x07: {classRequest, partMiddle, record.Write, false},
	0x08: {classRequest, partLast, record.Write, false},
	0x09: {classRequest, partLast, record.Write, false},
	0x0a: {classRequest, partOnly, record.Write, true},
	0x0b: {classRequest, partOnly, record.Write, true},
	0x0c: {classOwing, partOnly, record.Read, true},
	0x0d: {classResponse, partFirst, record.Read, false},
	0x0e: {classResponse, partMiddle, record.Read, false},
	0x0f: {classResponse, partLast, record.Read, false},
	0x10: {classResponse, partOnly, record.Read, false},
	0x11: {classAck, partOnly, record.Send, false},
	0x12: {classResponse, partOnly, record.Atomic, false},
	0x13: {classOwing, partOnly, record.Atomic, false},
	0x14: {classOwing, partOnly, record.Atomic, false},
	0x16: {classRequest, partLast, record.Send, false},
	0x17: {classRequest, partOnly, record.Send, false},
	0x1c: {classOwing, partOnly, record.Write, false}, // FLUSH
	0x1d: {classOwing, partOnly, record.Atomic, false},
}

// services are the services by the opcode's upper three bits.
var services = [8]record.Service{
	record.RC, record.UC, record.RD, record.UD, record.ServiceUnknown, record.XRC, record.ServiceUnknown, record.ServiceUnknown,
}

// known is what an opcode means.
type known struct {
	operation
	service record.Service
}

// byOpcode is what each opcode means: that of the row operations[31] where it is none of
// its service.
var byOpcode = func() (all [256]known) {
	for op := range all {
		k := known{operations[op&31], services[op>>5]}
		switch {
		case k.service == record.ServiceUnknown,
			k.service == record.UD && op != int(decode.OpUDSendOnly) && op != int(decode.OpUDSendOnlyImm),
			k.service == record.UC && (k.class != classRequest || op&31 > 0x0b):
			k.operation = operations[31]
		}
		all[op] = k
	}
	return all
}()

func operationOf(op decode.Opcode) (*operation, record.Service) {
	k := &byOpcode[op]
	return &k.operation, k.service
}

// takesBuffer says whether a packet takes a receive buffer, so that the
// responder may be out of them.
func takesBuffer(op decode.Opcode) bool {
	o, _ := operationOf(op)
	return o.class == classRequest && (o.kind == record.Send || op&31 == 0x09 || op&31 == 0x0b) // WRITEs with immediate data
}

// isCNP says whether a packet tells its receiver to slow down.
func isCNP(op decode.Opcode) bool { return op == decode.OpCNP || op == decode.OpCNPGroup }
