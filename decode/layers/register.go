package layers

import (
	"sync"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rocelens/rocelens/decode"
)

// The layer types. gopacket leaves 1000 to 1999 to applications, where looking
// one up takes an array and no map; this package has 1791 to 1796. They exist
// without Register, but gopacket then neither knows their names nor finds them.
const (
	LayerTypeBTH        gopacket.LayerType = 1791 + iota
	LayerTypeCNP                           // behind a BTH
	LayerTypeGRH                           // RoCEv1
	LayerTypeMACControl                    // MAC control opcode
	LayerTypePFC                           // behind MACControl
	LayerTypePause                         // behind MACControl
)

// The ethertypes that lead to this package's layers.
const (
	EthernetTypeRoCEv1     layers.EthernetType = 0x8915
	EthernetTypeMACControl layers.EthernetType = 0x8808
)

// UDPPortRoCEv2 is the UDP destination port of RoCEv2.
const UDPPortRoCEv2 layers.UDPPort = decode.RoCEv2Port

var register sync.Once

// Register makes gopacket decode UDP port 4791 as BTH, ethertype 0x8915 as GRH
// and ethertype 0x8808 as MACControl, whoever decodes in this program. Call it
// before the first packet is decoded: gopacket's tables have no lock. Further
// calls do nothing.
//
// RoCEv2 on another port takes one more call:
//
//	layers.RegisterUDPPortLayerType(port, roce.LayerTypeBTH)
//
// Register panics, as gopacket does, where something else in the program has
// registered one of the numbers 1791 to 1796.
func Register() {
	register.Do(func() {
		for _, l := range []struct {
			num    gopacket.LayerType
			name   string
			decode gopacket.DecodeFunc
		}{
			{LayerTypeBTH, "BTH", decodeBTH},
			{LayerTypeCNP, "CNP", decodeCNP},
			{LayerTypeGRH, "GRH", decodeGRH},
			{LayerTypeMACControl, "MACControl", decodeMACControl},
			{LayerTypePFC, "PFC", decodePFC},
			{LayerTypePause, "Pause", decodePause},
		} {
			gopacket.RegisterLayerType(int(l.num), gopacket.LayerTypeMetadata{Name: l.name, Decoder: l.decode})
		}
		layers.RegisterUDPPortLayerType(UDPPortRoCEv2, LayerTypeBTH)
		layers.EthernetTypeMetadata[EthernetTypeRoCEv1] = layers.EnumMetadata{
			DecodeWith: gopacket.DecodeFunc(decodeGRH), Name: "RoCEv1", LayerType: LayerTypeGRH,
		}
		layers.EthernetTypeMetadata[EthernetTypeMACControl] = layers.EnumMetadata{
			DecodeWith: gopacket.DecodeFunc(decodeMACControl), Name: "MACControl", LayerType: LayerTypeMACControl,
		}
	})
}

// decodingLayer is what all layers of this package are.
type decodingLayer interface {
	gopacket.Layer
	gopacket.DecodingLayer
}

// add decodes l, adds it and goes on to what it carries.
func add(l decodingLayer, data []byte, p gopacket.PacketBuilder) error {
	if err := l.DecodeFromBytes(data, p); err != nil {
		return err
	}
	p.AddLayer(l)
	return next(l, p)
}

func next(l decodingLayer, p gopacket.PacketBuilder) error {
	if t := l.NextLayerType(); t != gopacket.LayerTypeZero {
		return p.NextDecoder(t)
	}
	return nil
}

// short says that a layer's bytes are not all there, to df as well.
func short(df gopacket.DecodeFeedback, l decode.LayerKind, off, need, have int) error {
	df.SetTruncated()
	return decode.Error{Code: decode.ErrShort, Layer: l, Offset: uint32(off), Need: uint32(need), Have: uint32(have)}
}

// rest is the type of a layer's payload that nothing here decodes.
func rest(payload []byte) gopacket.LayerType {
	if len(payload) == 0 {
		return gopacket.LayerTypeZero
	}
	return gopacket.LayerTypePayload
}
