package layers

import (
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rocelens/rocelens/decode"
)

const (
	macControlLen = 2
	priorities    = 8
	pfcLen        = 2 + 2*priorities
	pauseLen      = 2
)

// The MAC control opcodes that have a layer.
const (
	MACControlPause = 0x0001
	MACControlPFC   = 0x0101
)

// MACControl is the opcode of a MAC control frame (IEEE 802.3 annex 31). Its
// payload is the rest of the frame, padding included: no field says where the
// operands end.
type MACControl struct {
	layers.BaseLayer
	Opcode uint16
}

// LayerType is LayerTypeMACControl.
func (m *MACControl) LayerType() gopacket.LayerType { return LayerTypeMACControl }

// CanDecode is LayerTypeMACControl.
func (m *MACControl) CanDecode() gopacket.LayerClass { return LayerTypeMACControl }

// NextLayerType is LayerTypePFC or LayerTypePause, or LayerTypePayload for any
// other opcode.
func (m *MACControl) NextLayerType() gopacket.LayerType {
	switch m.Opcode {
	case MACControlPFC:
		return LayerTypePFC
	case MACControlPause:
		return LayerTypePause
	}
	return rest(m.Payload)
}

// DecodeFromBytes decodes what follows ethertype 0x8808.
func (m *MACControl) DecodeFromBytes(data []byte, df gopacket.DecodeFeedback) error {
	*m = MACControl{}
	if len(data) < macControlLen {
		return short(df, decode.LayerMACControl, 0, macControlLen, len(data))
	}
	m.Opcode = be16(data)
	m.BaseLayer = layers.BaseLayer{Contents: data[:macControlLen], Payload: data[macControlLen:]}
	return nil
}

func decodeMACControl(data []byte, p gopacket.PacketBuilder) error {
	return add(new(MACControl), data, p)
}

// SerializeTo writes the opcode. The padding to 60 bytes is Ethernet's.
func (m *MACControl) SerializeTo(buf gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	return prepend16(buf, m.Opcode)
}

// PFC is a priority-based flow control frame (IEEE 802.3 annex 31D). What
// follows is padding and no payload.
//
//	class enable (2), bit n for priority n | eight times (16)
type PFC struct {
	layers.BaseLayer
	// Enable has a bit for each priority whose time counts. The upper eight are
	// reserved.
	Enable uint16
	// Quanta are pause times in units of 512 bit times of the link; 0 resumes.
	Quanta [priorities]uint16
}

// LayerType is LayerTypePFC.
func (f *PFC) LayerType() gopacket.LayerType { return LayerTypePFC }

// CanDecode is LayerTypePFC.
func (f *PFC) CanDecode() gopacket.LayerClass { return LayerTypePFC }

// NextLayerType is LayerTypeZero.
func (f *PFC) NextLayerType() gopacket.LayerType { return gopacket.LayerTypeZero }

// DecodeFromBytes decodes what follows MAC control opcode 0x0101.
func (f *PFC) DecodeFromBytes(data []byte, df gopacket.DecodeFeedback) error {
	*f = PFC{}
	if len(data) < pfcLen {
		return short(df, decode.LayerMACControl, 0, pfcLen, len(data))
	}
	f.Enable = be16(data)
	for i := range f.Quanta {
		f.Quanta[i] = be16(data[2+2*i:])
	}
	f.Contents = data[:pfcLen]
	return nil
}

func decodePFC(data []byte, p gopacket.PacketBuilder) error { return add(new(PFC), data, p) }

// SerializeTo writes class enable vector and times.
func (f *PFC) SerializeTo(buf gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	return prepend16(buf, append([]uint16{f.Enable}, f.Quanta[:]...)...)
}

// Pause is an 802.3x PAUSE frame (IEEE 802.3 annex 31B). What follows is
// padding and no payload.
type Pause struct {
	layers.BaseLayer
	Quanta uint16 // in units of 512 bit times of the link; 0 resumes
}

// LayerType is LayerTypePause.
func (f *Pause) LayerType() gopacket.LayerType { return LayerTypePause }

// CanDecode is LayerTypePause.
func (f *Pause) CanDecode() gopacket.LayerClass { return LayerTypePause }

// NextLayerType is LayerTypeZero.
func (f *Pause) NextLayerType() gopacket.LayerType { return gopacket.LayerTypeZero }

// DecodeFromBytes decodes what follows MAC control opcode 0x0001.
func (f *Pause) DecodeFromBytes(data []byte, df gopacket.DecodeFeedback) error {
	*f = Pause{}
	if len(data) < pauseLen {
		return short(df, decode.LayerMACControl, 0, pauseLen, len(data))
	}
	f.Quanta = be16(data)
	f.Contents = data[:pauseLen]
	return nil
}

func decodePause(data []byte, p gopacket.PacketBuilder) error { return add(new(Pause), data, p) }

// SerializeTo writes the time.
func (f *Pause) SerializeTo(buf gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	return prepend16(buf, f.Quanta)
}

// prepend16 puts numbers of 16 bits in front of what is in buf.
func prepend16(buf gopacket.SerializeBuffer, v ...uint16) error {
	b, err := buf.PrependBytes(2 * len(v))
	if err != nil {
		return err
	}
	for i := range v {
		put16(b[2*i:], v[i])
	}
	return nil
}
