package layers

import (
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rocelens/rocelens/decode"
)

const cnpLen = 16

// CNP is the body of a congestion notification packet (annex A17): 16 reserved
// bytes, all zero, behind a BTH with opcode 0x81 and BECN set. That there is
// one is all it says; the BTH's DestQP is the queue pair that shall slow down.
type CNP struct {
	layers.BaseLayer
	Reserved [cnpLen]byte
}

// LayerType is LayerTypeCNP.
func (c *CNP) LayerType() gopacket.LayerType { return LayerTypeCNP }

// CanDecode is LayerTypeCNP.
func (c *CNP) CanDecode() gopacket.LayerClass { return LayerTypeCNP }

// NextLayerType is LayerTypePayload where more than the 16 bytes is there.
func (c *CNP) NextLayerType() gopacket.LayerType { return rest(c.Payload) }

// DecodeFromBytes decodes what follows the BTH of a CNP.
func (c *CNP) DecodeFromBytes(data []byte, df gopacket.DecodeFeedback) error {
	*c = CNP{}
	if len(data) < cnpLen {
		return short(df, decode.LayerCNPReserved, 0, cnpLen, len(data))
	}
	c.Reserved = [cnpLen]byte(data)
	c.BaseLayer = layers.BaseLayer{Contents: data[:cnpLen], Payload: data[cnpLen:]}
	return nil
}

func decodeCNP(data []byte, p gopacket.PacketBuilder) error { return add(new(CNP), data, p) }

// SerializeTo writes the 16 bytes.
func (c *CNP) SerializeTo(buf gopacket.SerializeBuffer, _ gopacket.SerializeOptions) error {
	b, err := buf.PrependBytes(cnpLen)
	if err != nil {
		return err
	}
	copy(b, c.Reserved[:])
	return nil
}
