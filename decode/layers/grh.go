package layers

import (
	"fmt"
	"net"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/rocelens/rocelens/decode"
)

const grhLen = 40

// NextHeaderIBA is the GRH's next header where a BTH follows.
const NextHeaderIBA = 0x1b

// GRH is the global route header, with which RoCEv1 begins (InfiniBand
// Architecture Specification, volume 1, 8.3). It is an IPv6 header in shape.
// PayloadLength says where the packet ends: what follows in the frame is not
// part of Payload.
//
//	+-------+---------------+---------------------------------------+
//	|   6   | traffic class |              flow label               |
//	+-------+---------------+-------+---------------+---------------+
//	|        payload length         | next hdr 0x1b |   hop limit   |
//	+-------------------------------+---------------+---------------+
//	|                        source GID (16)                        |
//	+---------------------------------------------------------------+
//	|                     destination GID (16)                      |
//	+---------------------------------------------------------------+
type GRH struct {
	layers.BaseLayer
	Version       uint8 // 6
	TrafficClass  uint8 // DSCP 6 bits, ECN 2 bits
	FlowLabel     uint32
	PayloadLength uint16 // bytes behind the GRH, to the end of the ICRC; set by FixLengths
	NextHeader    uint8
	HopLimit      uint8
	SrcGID        net.IP // 16 bytes; ::ffff:a.b.c.d stands for an IPv4 address
	DstGID        net.IP
}

// LayerType is LayerTypeGRH.
func (g *GRH) LayerType() gopacket.LayerType { return LayerTypeGRH }

// CanDecode is LayerTypeGRH.
func (g *GRH) CanDecode() gopacket.LayerClass { return LayerTypeGRH }

// NetworkFlow has the GIDs as IPv6 addresses.
func (g *GRH) NetworkFlow() gopacket.Flow {
	return gopacket.NewFlow(layers.EndpointIPv6, g.SrcGID, g.DstGID)
}

// NextLayerType is LayerTypeBTH, or LayerTypePayload behind another next
// header than NextHeaderIBA.
func (g *GRH) NextLayerType() gopacket.LayerType {
	if g.NextHeader == NextHeaderIBA && len(g.Payload) > 0 {
		return LayerTypeBTH
	}
	return rest(g.Payload)
}

// DecodeFromBytes decodes what follows ethertype 0x8915. The GIDs are part of
// data.
func (g *GRH) DecodeFromBytes(data []byte, df gopacket.DecodeFeedback) error {
	*g = GRH{}
	if len(data) < grhLen {
		return short(df, decode.LayerGRH, 0, grhLen, len(data))
	}
	word := be32(data)
	g.Version, g.TrafficClass, g.FlowLabel = uint8(word>>28), uint8(word>>20), word&0xfffff
	g.PayloadLength, g.NextHeader, g.HopLimit = be16(data[4:]), data[6], data[7]
	g.SrcGID, g.DstGID = net.IP(data[8:24]), net.IP(data[24:40])
	if g.Version != 6 {
		return decode.Error{Code: decode.ErrVersion, Layer: decode.LayerGRH, Need: 6, Have: uint32(g.Version)}
	}
	end := grhLen + int(g.PayloadLength)
	if end > len(data) {
		df.SetTruncated()
		end = len(data)
	}
	g.BaseLayer = layers.BaseLayer{Contents: data[:grhLen], Payload: data[grhLen:end]}
	return nil
}

func decodeGRH(data []byte, p gopacket.PacketBuilder) error {
	g := new(GRH)
	if err := g.DecodeFromBytes(data, p); err != nil {
		return err
	}
	p.AddLayer(g)
	p.SetNetworkLayer(g)
	return next(g, p)
}

// SerializeTo writes the header. FixLengths sets PayloadLength.
func (g *GRH) SerializeTo(buf gopacket.SerializeBuffer, opts gopacket.SerializeOptions) error {
	payload := len(buf.Bytes())
	b, err := buf.PrependBytes(grhLen)
	if err != nil {
		return err
	}
	if opts.FixLengths {
		if payload > 0xffff {
			return fmt.Errorf("GRH: %d bytes behind it, 65535 at most", payload)
		}
		g.PayloadLength = uint16(payload)
	}
	return g.put(b)
}

// put writes the header into b.
func (g *GRH) put(b []byte) error {
	if g.Version > 15 || g.FlowLabel > 0xfffff {
		return fmt.Errorf("GRH: version %d has 4 bits, flow label %#x has 20", g.Version, g.FlowLabel)
	}
	if len(g.SrcGID) != net.IPv6len || len(g.DstGID) != net.IPv6len {
		return fmt.Errorf("GRH: a GID has %d bytes, these have %d and %d", net.IPv6len, len(g.SrcGID), len(g.DstGID))
	}
	put32(b, uint32(g.Version)<<28|uint32(g.TrafficClass)<<20|g.FlowLabel)
	put16(b[4:], g.PayloadLength)
	b[6], b[7] = g.NextHeader, g.HopLimit
	copy(b[8:24], g.SrcGID)
	copy(b[24:40], g.DstGID)
	return nil
}
