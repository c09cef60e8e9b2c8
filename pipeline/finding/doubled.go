package finding

import (
	"strconv"
	"strings"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/record"
)

// doubled sums up directions whose packets are there more than once.
type doubled struct {
	packets, copies, apart, undecided uint64
	different, repeated               uint64
	withoutID, sentAgain              uint64 // copies that no ID proves to be such, and packets that it took for sent again
	least, most                       int    // how often packets are there
	differ                            pipeline.Difference
	first                             record.FrameRef
	say                               []string
	list                              []record.Evidence
}

func sumDoubled(rows []pipeline.DoubledDirection) *doubled {
	s := &doubled{first: rows[0].First, list: []record.Evidence{}, least: rows[0].Times}
	for i := range rows {
		r := &rows[i]
		s.packets += r.Packets
		s.copies += r.Copies
		s.different += r.Different
		s.repeated += r.Repeated
		s.least, s.most = min(s.least, r.Times), max(s.most, r.Times)
		s.sentAgain += r.SentAgain
		if !r.UsableID {
			s.withoutID += r.Copies
		}
		if r.Retransmissions {
			s.undecided += r.Copies
		} else {
			s.apart += r.Apart
			s.differ |= r.Differ
		}
		if r.First.Before(s.first) {
			s.first = r.First
		}
		src, dst := address(r.Src, r.AddrKind), address(r.Dst, r.AddrKind)
		s.say = append(s.say, src+" to "+dst)
		if i < maxListed {
			s.list = append(s.list, record.Evidence{{Key: "src", Value: src}, {Key: "dst", Value: dst}, {Key: "packets", Value: r.Packets}, {Key: "copies", Value: r.Copies}, {Key: "times", Value: uint64(r.Times)}})
		}
	}
	return s
}

// directions is the one with most copies, and how many more there are.
func (s *doubled) directions() string { return s.say[0] + others(len(s.say)-1) }

func (s *doubled) evidence() record.Evidence {
	return record.Evidence{
		{Key: "copies", Value: s.copies}, {Key: "packets", Value: s.packets}, {Key: "share", Value: share(s.repeated, s.different)}, {Key: "times", Value: uint64(s.most)},
		{Key: "sent_again", Value: s.sentAgain},
		{Key: "captured_elsewhere", Value: s.apart}, {Key: "differ", Value: s.differ.Names()},
		{Key: "directions", Value: s.list}, {Key: "directions_doubled", Value: uint64(len(s.say))}, {Key: "first", Value: s.first},
	}
}

// times is "twice", "three times".
func (s *doubled) times() string {
	switch {
	case s.least < s.most:
		return strconv.Itoa(s.least) + " to " + strconv.Itoa(s.most) + " times"
	case s.most == 2:
		return "twice"
	case s.most < len(numbers):
		return numbers[s.most] + " times"
	}
	return strconv.Itoa(s.most) + " times"
}

var numbers = [...]string{3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}

// proof says why the copies are no packets that were sent again.
func (s *doubled) proof() (say string) {
	if s.copies > s.withoutID {
		say = "The copies have the same bytes"
		if s.withoutID > 0 {
			say = "Where packets have an IP ID the copies have the same bytes"
		}
		say += ", the IP ID among them, and came within 10 ms, so they were captured again and not sent again. "
	}
	if s.withoutID > 0 {
		say += "Without an IP ID a packet that is sent again has the same bytes as well, but "
		if s.repeated == s.different {
			say += "every packet"
		} else {
			say += "nearly every packet"
		}
		say += " is there " + s.times() + " within 10 ms, and that is the capture's doing. "
		if s.sentAgain > 0 {
			say += "Those that are there twice as often or more were sent again: " + plural(s.sentAgain, "packet") + " that " + areNo(s.sentAgain) + ". "
		}
	}
	return strings.TrimSuffix(say, " ")
}

func areNo(n uint64) string {
	if n == 1 {
		return "is no copy"
	}
	return "are no copies"
}

// copiesText is "1 copy", "2 copies".
func copiesText(n uint64) string {
	if n == 1 {
		return "1 copy"
	}
	return count(n) + " copies"
}

// differenceTexts are what people call the differences, in the order of their
// bits.
var differenceTexts = [...]string{
	"the file", "the interface", "the direction (sent or received)", "the MAC addresses", "the VLAN tag", "the TTL", "the tunnel",
}

// differences is "the VLAN tag and the TTL", or "" for none.
func differences(d pipeline.Difference) string {
	var say []string
	for i, text := range differenceTexts {
		if d>>i&1 != 0 {
			say = append(say, text)
		}
	}
	if n := len(say) - 1; n > 0 {
		return strings.Join(say[:n], ", ") + " and " + say[n]
	}
	return strings.Join(say, "")
}

// samePlace is what to say of copies from one place.
const samePlace = "file, interface, MAC addresses, VLAN tag, tunnel and TTL are the same"

// between says in what the copies differ from what they are copies of.
func (s *doubled) between() string {
	what := differences(s.differ)
	switch {
	case s.apart == 0:
		return "Between the copies nothing differs: " + samePlace + "."
	case what == "":
		return "" // it was forgotten
	case s.apart < s.copies:
		return "In " + count(s.apart) + " of the copies " + what + verb(s.differ) + "; between the others nothing does."
	}
	return "Between the copies " + what + verb(s.differ) + "."
}

func verb(d pipeline.Difference) string {
	if d == pipeline.DiffMAC || d&(d-1) != 0 {
		return " differ"
	}
	return " differs"
}

// mirroredTwice says that the capture has the same packets twice, or oftener.
func mirroredTwice(f *Facts) []record.Finding {
	if len(f.Duplicates.Doubled) == 0 {
		return nil
	}
	s := sumDoubled(f.Duplicates.Doubled)
	detail := []string{s.proof()}
	if what := s.between(); what != "" {
		detail = append(detail, what)
	}
	detail = append(detail, "All counts and rates of this report include them. Directions: "+listed(s.say)+". Mirror one port, or one direction of it, and "+
		"capture on that interface instead of on any; where captures of the same traffic were put together, leave one out.")
	return one(record.Finding{
		Severity: record.Warning, Code: "mirrored-twice",
		Title: "The same packets were captured " + s.times() + ": " + count(s.copies) + " of " + count(s.packets) + " RoCE packets from " + s.directions() +
			" are copies",
		Detail: strings.Join(detail, " "), Evidence: s.evidence(),
	})
}

// partlyDoubled says that some packets are there more than once, too few of them to
// tell by their share who doubled them.
func partlyDoubled(f *Facts) []record.Finding {
	if len(f.Duplicates.Partly) == 0 {
		return nil
	}
	s := sumDoubled(f.Duplicates.Partly)
	var detail []string
	if s.apart > 0 {
		what := differences(s.differ)
		if what != "" {
			what = ": " + what + verb(s.differ)
		}
		detail = append(detail, "Captured at another place: "+copiesText(s.apart)+what+". The capture has a part of the traffic twice.")
	}
	if n := s.copies - s.apart - s.undecided; n > 0 {
		detail = append(detail, "From the same place: "+copiesText(n)+". The IP ID is the same, so they were not sent again, and "+samePlace+". Either the network doubled "+
			"them (a loop, or two ways to one place), or a mirror has everything twice and lost the other copies: the capture can't tell.")
	}
	if s.undecided > 0 {
		detail = append(detail, "Without an IP ID that tells a copy from a retransmission: "+copiesText(s.undecided)+". The capture can't tell which they are.")
	}
	detail = append(detail, "All counts and rates of this report include them. Directions: "+listed(s.say)+".")
	return one(record.Finding{
		Severity: record.Info, Code: "partly-doubled",
		Title: "Some packets are there " + s.times() + ": " + count(s.copies) + " of " + count(s.packets) + " RoCE packets from " + s.directions() +
			" came again within 10 ms",
		Detail: strings.Join(detail, " "), Evidence: append(s.evidence(), record.Fact{Key: "undecided", Value: s.undecided}),
	})
}

// Copies that come late are worth a finding if the sample has so many, and
// they are so large a share of it.
const (
	minLater      = 8
	minLaterShare = 100 // one in so many
)

// copiesApart says that packets come again later than copies do.
func copiesApart(f *Facts) []record.Finding {
	var again, sampled uint64
	var first record.FrameRef
	list := []record.Evidence{}
	var say []string
	between := false // two inputs
	for i := range f.Duplicates.Later {
		r := &f.Duplicates.Later[i]
		if r.Again < minLater || minLaterShare*r.Again < r.Sampled {
			continue
		}
		if len(say) == 0 || r.First.Before(first) {
			first = r.First
		}
		again, sampled = again+r.Again, r.Sampled
		from, to := inputName(f, r.From), inputName(f, r.To)
		if r.From == r.To {
			say = append(say, from+" has "+count(r.Again)+" of them twice, the second time "+after(r.Low, r.High)+" after the first")
		} else {
			between = true
			say = append(say, count(r.Again)+" are in "+from+" and, "+ahead(r.Low, r.High)+", in "+to)
		}
		if len(list) < maxListed {
			list = append(list, record.Evidence{
				{Key: "from", Value: uint64(r.From)}, {Key: "to", Value: uint64(r.To)}, {Key: "again", Value: r.Again}, {Key: "low_ns", Value: r.Low}, {Key: "high_ns", Value: r.High},
			})
		}
	}
	if len(say) == 0 {
		return nil
	}
	finding := record.Finding{
		Severity: record.Info, Code: "copies-apart",
		Title: "The same RoCE packets come again later: " + count(again) + " of " + count(sampled) + " that were looked at",
		Detail: "Of a sample of the packets, " + listed(say) + ". They were captured twice with clocks that differ, replayed, or sent again by somebody who " +
			"repeats the IP IDs: the capture can't tell. All counts and rates of this report include them.",
		Evidence: record.Evidence{
			{Key: "again", Value: again}, {Key: "sampled", Value: sampled}, {Key: "share", Value: share(again, sampled)}, {Key: "inputs", Value: list}, {Key: "first", Value: first},
		},
	}
	if between {
		finding.Severity = record.Warning
		finding.Title = "Inputs have the same RoCE packets at different times: " + count(again) + " of " + count(sampled) + " that were looked at"
		finding.Detail = "Of a sample of the packets, " + listed(say) + ". The clocks of these captures differ, or one was made from a replay of the other. All counts " +
			"and rates of this report include the packets as often as they are there, and the order between the inputs is not that of the wire. Analyse the " +
			"inputs one by one, or set their clocks right (editcap -t) first."
	}
	return one(finding)
}

// inputName is what a sentence calls an input.
func inputName(f *Facts, input int32) string {
	if int(input) < len(f.Inputs) {
		return capture.PathText(f.Inputs[input].Path)
	}
	return "input " + strconv.Itoa(int(input)+1)
}

// after is how long after, for people: 1.500 to 1.502 s.
func after(low, high int64) string {
	s, e := seconds(low), seconds(high)
	if s == e {
		return s + " s"
	}
	return s + " to " + e + " s"
}

// ahead is that of a time that may be negative.
func ahead(low, high int64) string {
	switch {
	case low >= 0:
		return after(low, high) + " later"
	case high <= 0:
		return after(-high, -low) + " earlier"
	}
	return after(low, high) + " later"
}

// seconds is a time in seconds, to the millisecond.
func seconds(ns int64) string { return strconv.FormatFloat(float64(ns)/1e9, 'f', 3, 64) }

func others(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return " and in 1 more direction"
	}
	return " and in " + count(uint64(n)) + " more directions"
}
