package mad_test

import (
	"testing"

	"github.com/rocelens/rocelens/decode/mad"
)

func TestServiceID(t *testing.T) {
	for _, c := range []struct {
		id    mad.ServiceID
		space mad.PortSpace
		port  uint16
		app   string
	}{
		{0x0000000001061144, mad.PortSpaceTCP, 4420, "nvme-rdma"},
		{0x0000000001060cbc, mad.PortSpaceTCP, 3260, "iser"},
		{0x0000000001064e51, mad.PortSpaceTCP, 20049, "nfs-rdma"},
		{0x00000000010601bd, mad.PortSpaceTCP, 445, "smb-direct"},
		{0x0000000001061608, mad.PortSpaceTCP, 5640, "9p"},
		{0x0000000001061c06, mad.PortSpaceTCP, 7174, "rping"},
		{0x0000000001111c06, mad.PortSpaceUDP, 7174, "udaddy"},
		{0x00000000010603db, mad.PortSpaceTCP, 987, "lustre"},
		{0x0000000001065dc8, mad.PortSpaceTCP, 24008, "glusterfs"},
		{0x0000000001064853, mad.PortSpaceTCP, 18515, "perftest"},
		{0x00000000013f1144, mad.PortSpaceIB, 4420, "nvme-rdma"},
		{0x0000000001021144, mad.PortSpaceIPoIB, 4420, ""},
		{0x00000000010615b3, mad.PortSpaceTCP, 5555, ""},
		{0x1000000000000404, 0, 0, "ipoib"},
		{0x0000000101061144, 0, 0, ""},
		{0, 0, 0, ""},
	} {
		if c.id.PortSpace() != c.space || c.id.Port() != c.port || c.id.Application() != c.app {
			t.Errorf("%#x: %v, %d, %q", uint64(c.id), c.id.PortSpace(), c.id.Port(), c.id.Application())
		}
	}
	if s := mad.PortSpaceUDP.String() + mad.PortSpace(0x77).String(); s != "UDP0x77" {
		t.Error(s)
	}
}

// TestTimes holds times against what the kernel's rdmavt computes for the same
// exponents, and MTUs against the verbs' enumeration.
func TestTimes(t *testing.T) {
	for exp, ns := range map[uint8]int64{0: 4096, 8: 1048576, 14: 67108864, 20: 4294967296, 31: 8796093022208} {
		if got := mad.Timeout(exp); got != ns {
			t.Errorf("%d: %d ns, want %d", exp, got, ns)
		}
	}
	if mad.AckTimeout(0) != 0 || mad.AckTimeout(14) != 67108864 {
		t.Error("ACK timeout")
	}
	for code, want := range []uint32{0, 256, 512, 1024, 2048, 4096, 0} {
		if got := mad.PathMTU(uint8(code)); got != want {
			t.Errorf("MTU code %d: %d, want %d", code, got, want)
		}
	}
	if mad.PathMTU(15) != 0 {
		t.Error("MTU code 15")
	}
}

func TestTexts(t *testing.T) {
	for r := range mad.Reason(40) {
		known := r >= 1 && r <= 33 || r == 35
		if s := r.String(); known == (len(s) >= 6 && s[:6] == "reason") {
			t.Errorf("reason %d is %q", r, s)
		}
	}
	if s := mad.Reason(65535).String(); s != "reason 65535" {
		t.Error(s)
	}
	if s := mad.SIDRStatus(3) + mad.SIDRStatus(6); s != "no queue pair availablestatus 6" {
		t.Error(s)
	}
	if s := mad.REQ.String() + mad.APR.String() + mad.Attribute(1).String(); s != "REQAPRunknown" {
		t.Error(s)
	}
	for i, want := range []string{"RC", "UC", "RD", ""} {
		if got := mad.TransportName(uint8(i), 0); got != want {
			t.Errorf("transport %d is %q", i, got)
		}
	}
	if s := mad.TransportName(3, 1); s != "XRC" {
		t.Error(s)
	}
}
