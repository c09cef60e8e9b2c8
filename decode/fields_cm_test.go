package decode_test

import (
	"math/rand/v2"
	"testing"

	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/decode/mad"
)

// TestCMFields reads messages of random bytes with the field table and with
// package mad: those that Wireshark has no fields for. The others are compared
// with tshark's.
func TestCMFields(t *testing.T) {
	bit := func(b bool) uint64 {
		if b {
			return 1
		}
		return 0
	}
	r := rand.New(rand.NewPCG(7, 8))
	d := decode.New(decode.DefaultConfig())
	var p decode.Packet
	var x decode.Extra
	for _, a := range []mad.Attribute{mad.MRA, mad.LAP, mad.APR, mad.SIDRReq, mad.SIDRRep} {
		payload := make([]byte, 24+mad.BodyLen)
		for i := range payload {
			payload[i] = byte(r.Uint32())
		}
		copy(payload, []byte{1, decode.ClassCM, 2, 3})
		payload[16], payload[17] = 0, byte(a)
		var m mad.Message
		m.Decode(a, payload[24:])
		numbers := map[mad.Attribute]map[string]uint64{
			mad.MRA: {"mra.localcommid": uint64(m.LocalID), "mra.remotecommid": uint64(m.RemoteID), "mra.msgmraed": uint64(m.MsgRejected),
				"mra.servicetout": uint64(m.ServiceTimeout)},
			mad.LAP: {"lap.localcommid": uint64(m.LocalID), "lap.remotecommid": uint64(m.RemoteID), "lap.remoteqpneecn": uint64(m.QPN),
				"lap.remoteresptout": uint64(m.RemoteResponseTimeout), "lap.alt_locallid": uint64(m.Alternate.LocalLID),
				"lap.alt_remotelid": uint64(m.Alternate.RemoteLID), "lap.alt_flowlabel": uint64(m.Alternate.FlowLabel),
				"lap.alt_tfcclass": uint64(m.Alternate.TrafficClass), "lap.alt_hoplim": uint64(m.Alternate.HopLimit),
				"lap.alt_pktrate": uint64(m.Alternate.PacketRate), "lap.alt_sl": uint64(m.Alternate.SL),
				"lap.alt_subnetlocal": bit(m.Alternate.SubnetLocal), "lap.alt_localacktout": uint64(m.Alternate.AckTimeout)},
			mad.APR: {"apr.localcommid": uint64(m.LocalID), "apr.remotecommid": uint64(m.RemoteID), "apr.status": uint64(m.Status)},
			mad.SIDRReq: {"sidr_req": uint64(m.LocalID), "sidr_req.pkey": uint64(m.PKey),
				"sidr_req.serviceid": uint64(m.ServiceID)},
			mad.SIDRRep: {"sidr_rep": uint64(m.LocalID), "sidr_rep.status": uint64(m.Status), "sidr_rep.qpn": uint64(m.QPN),
				"sidr_rep.serviceid": uint64(m.ServiceID), "sidr_rep.qkey": uint64(m.QKey)},
		}[a]
		private := map[mad.Attribute]string{mad.MRA: "mra.private", mad.LAP: "lap.private", mad.APR: "apr.private",
			mad.SIDRReq: "sidr_req.private", mad.SIDRRep: "sidr_rep.private"}[a]
		f := frame(etherIP(udpPacket(pairV4, transport{op: 0x64, qp: 1, ext: make([]byte, 8), payload: payload})))
		d.Decode(&f, &p)
		x.Reset()
		one := func(name string) decode.Value {
			v := decode.FieldByName("infiniband.cm."+name).Append(nil, &x, &p)
			if len(v) != 1 {
				t.Fatalf("%v: %s %d times", a, name, len(v))
			}
			return v[0]
		}
		for name, want := range numbers {
			if got := one(name).Num; got != want {
				t.Errorf("%s is %#x, want %#x", name, got, want)
			}
		}
		if got := one(private).Bytes; string(got) != string(m.Private) {
			t.Errorf("%s is %x, want %x", private, got, m.Private)
		}
		if a == mad.LAP {
			if got, want := one("lap.alt_localgid").Bytes, m.Alternate.LocalGID; string(got) != string(want[:]) {
				t.Errorf("local GID %x, want %x", got, want)
			}
			if got, want := one("lap.alt_remotegid").Bytes, m.Alternate.RemoteGID; string(got) != string(want[:]) {
				t.Errorf("remote GID %x, want %x", got, want)
			}
		}
	}
}
