package layers

import (
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// Serialize is gopacket.SerializeLayers for RoCE: with ComputeChecksums it
// tells each BTH the headers in front of it (SetNetworkLayerForICRC), and
// leaves the UDP checksum in front of a BTH at 0, not computed, as RoCEv2
// senders do. Each UDP header elsewhere needs SetNetworkLayerForChecksum as
// usual.
func Serialize(buf gopacket.SerializeBuffer, opts gopacket.SerializeOptions, ls ...gopacket.SerializableLayer) error {
	if err := buf.Clear(); err != nil {
		return err
	}
	for i := len(ls) - 1; i >= 0; i-- {
		o := opts
		if opts.ComputeChecksums {
			switch l := ls[i].(type) {
			case *BTH:
				if err := l.setHeaders(ls[:i]); err != nil {
					return err
				}
			case *layers.UDP:
				if i+1 < len(ls) && ls[i+1].LayerType() == LayerTypeBTH {
					l.Checksum = 0
					o.ComputeChecksums = false
				}
			}
		}
		if err := ls[i].SerializeTo(buf, o); err != nil {
			return err
		}
		buf.PushLayer(ls[i].LayerType())
	}
	return nil
}

// setHeaders finds the headers for the ICRC at the end of front. Where they are
// not, those that were set before count.
func (b *BTH) setHeaders(front []gopacket.SerializableLayer) error {
	at := len(front) - 1
	var udp *layers.UDP
	if at >= 0 {
		var ok bool
		if udp, ok = front[at].(*layers.UDP); ok {
			at--
		}
	}
	if at < 0 {
		return nil
	}
	network, ok := front[at].(gopacket.NetworkLayer)
	if !ok {
		return nil
	}
	return b.SetNetworkLayerForICRC(network, udp)
}
