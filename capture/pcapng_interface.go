package capture

import "math"

// describeInterface takes an Interface Description Block.
func (p *ngParser) describeInterface(body []byte, f *feed) bool {
	if len(body) < 8 {
		f.damage("an interface description of ", len(body), " bytes is shorter than its fields")
		return false
	}
	if len(p.interfaces) == maxInterfaces {
		f.damage("more than ", maxInterfaces, " interfaces")
		return false
	}
	face := ngInterface{
		link:    LinkType(order16(body, p.swap)),
		snapLen: order32(body[4:], p.swap),
		fcsLen:  -1,
	}
	info := Interface{Link: face.link, SnapLen: face.snapLen, TSResol: defaultResol}
	for o := (blockOptions{body[8:], p.swap}); ; {
		code, value, ok := o.next()
		if !ok {
			break
		}
		switch {
		case code == optComment:
			info.Comments = p.appendText(info.Comments, value)
		case code == ifName:
			info.Name = p.text(value)
		case code == ifDescription:
			info.Description = p.text(value)
		case code == ifHardware:
			info.Hardware = p.text(value)
		case code == ifOS:
			info.OS = p.text(value)
		case code == ifFilter && len(value) > 1 && value[0] == 0: // 1 is BPF code
			info.Filter = p.text(value[1:])
		case code == ifMAC && len(value) == 6:
			info.MAC = [6]byte(value)
		case code == ifSpeed && len(value) == 8:
			info.Speed = order64(value, p.swap)
		case code == ifTSResol && len(value) == 1:
			info.TSResol = value[0]
		case code == ifTSOffset && len(value) == 8:
			info.TSOffset = int64(order64(value, p.swap))
		case code == ifFCSLen && len(value) == 1 && value[0] <= math.MaxInt8:
			face.fcsLen = int8(value[0])
		}
	}
	info.FCSLen = face.fcsLen
	face.clock = newClock(info.TSResol, info.TSOffset)
	face.info = info
	p.interfaces = append(p.interfaces, face)
	return true
}

// statistics takes an Interface Statistics Block. Its counters run from the
// start of the capture, so the last block holds. One that is damaged or that
// names an unknown interface loses no frame, and is left out.
func (p *ngParser) statistics(body []byte) {
	if len(body) < 12 {
		return
	}
	index := order32(body, p.swap)
	if int64(index) >= int64(len(p.interfaces)-p.first) {
		return
	}
	info := &p.interfaces[p.first+int(index)].info
	var dropped uint64
	told := false
	for o := (blockOptions{body[12:], p.swap}); ; {
		code, value, ok := o.next()
		if !ok {
			break
		}
		if len(value) != 8 {
			continue
		}
		switch n := order64(value, p.swap); code {
		case isbReceived:
			info.Received = &n
		case isbDropped, isbOSDrop:
			dropped, told = addSaturating(dropped, n), true
		}
	}
	if told {
		info.Dropped = &dropped
	}
}

func (face *ngInterface) addDrops(n uint64) {
	face.drops = addSaturating(face.drops, n)
	face.dropped = true
}

func addSaturating(a, b uint64) uint64 {
	if a+b < a {
		return math.MaxUint64
	}
	return a + b
}

// text is an option's string while the input's allowance lasts.
func (p *ngParser) text(value []byte) string {
	if len(value) > p.textLeft {
		return ""
	}
	p.textLeft -= len(value)
	return text(value)
}

// appendText is for strings that may come again and again: each costs its
// header besides its bytes.
func (p *ngParser) appendText(list []string, value []byte) []string {
	const stringHeader = 16
	if len(value)+stringHeader > p.textLeft {
		return list
	}
	p.textLeft -= stringHeader
	return append(list, p.text(value))
}
