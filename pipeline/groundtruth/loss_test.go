package groundtruth_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/pipeline/record"
)

// sweepPoint is what one capture of the loss sweep says.
type sweepPoint struct {
	*sweep
	name     string
	rate     float64 // goodput in MiB/s, over the whole run
	tries    uint64
	byTimer  uint64 // tries that the requester's timer began
	lost     uint64
	again    uint64 // packets sent again that the tap saw
	repeats  uint64 // those of them that it had seen before
	newShare float64
	waiting  float64 // share of the run in which the requester waited for its timer
}

// perLost is how many packets were sent again for each one lost.
func (p sweepPoint) perLost() float64 { return float64(p.again) / float64(max(p.lost, 1)) }

// sweepPoints reads the sweeps from the sessions of the pipeline, by path MTU
// and loss rate.
func sweepPoints(t *testing.T) map[int][]sweepPoint {
	points := make(map[int][]sweepPoint)
	for _, a := range all(t) {
		if a.truth.Sweep == nil {
			continue
		}
		if n := a.res.Sessions.Len(); n != 1 {
			t.Fatalf("%s has %d sessions", a.name, n)
		}
		s := a.res.Sessions.At(0)
		data, acks := &s.AToB, &s.BToA
		took := float64(max(data.Last, acks.Last) - data.First)
		p := sweepPoint{
			sweep: a.truth.Sweep, name: a.name,
			rate:     float64(data.GoodputBytes) / (1 << 20) / took * 1e9,
			tries:    sum(data.Tries[:]),
			byTimer:  data.Tries[timeout],
			lost:     data.Lost.BeforeTap,
			again:    data.Retransmitted.Packets,
			repeats:  data.Retransmitted.Repeats,
			newShare: float64(data.GoodputBytes) / float64(data.PayloadBytes),
			waiting:  float64(timerWait(a)) / took,
		}
		points[p.PathMTU] = append(points[p.PathMTU], p)
	}
	for _, list := range points {
		slices.SortFunc(list, func(a, b sweepPoint) int { return cmp.Compare(a.LossPct, b.LossPct) })
	}
	return points
}

// timerWait sums how long the requesters had sent nothing when their timers
// ran out, in nanoseconds.
func timerWait(a *analysed) int64 {
	var wait int64
	for i := range a.res.Events {
		if y, ok := a.res.Events[i].Detail.(*record.Try); ok && y.Cause == timeout {
			wait += y.Silence
		}
	}
	return wait
}

// TestSweepAgainstProgram: the goodput at the tap is what ib_write_bw
// reported, and what arrived more than once is what the receiver counted.
func TestSweepAgainstProgram(t *testing.T) {
	capturetest.NeedShared(t)
	const tolerance = 0.03 // the program measures from its first post to its last completion
	n := 0
	for _, list := range sweepPoints(t) {
		for _, p := range list {
			n++
			if d := p.rate/p.ReportedAvg - 1; d < -tolerance || d > tolerance {
				t.Errorf("%s: %.2f MiB/s at the tap, ib_write_bw reported %.2f", p.name, p.rate, p.ReportedAvg)
			}
			if want := uint64(p.Received - p.Needed); p.repeats != want {
				t.Errorf("%s: %d packets seen again, the receiver had %d more than it needed", p.name, p.repeats, want)
			}
		}
	}
	if n != 16 {
		t.Errorf("%d captures in the sweep", n)
	}
}

// TestLossDoc keeps docs/loss.md and its picture equal to the sweep captures.
func TestLossDoc(t *testing.T) {
	capturetest.NeedShared(t)
	points := sweepPoints(t)
	golden(t, "loss.svg", lossPicture(points))
	golden(t, "loss.md", lossDoc(points))
}

var sweepMTUs = []int{1024, 4096}

func lossPicture(points map[int][]sweepPoint) string {
	colors := map[int]string{1024: "#1f5fa8", 4096: "#c2571a"}
	goodput := panel{title: "goodput, % of that without loss", max: 125, step: 25, format: "%.0f"}
	waiting := panel{title: "time spent waiting for a timer, %", max: 100, step: 20, format: "%.0f"}
	fresh := panel{title: "new data, % of what arrived", max: 100, step: 20, format: "%.0f"}
	ticks := []float64{}
	for _, mtu := range sweepMTUs {
		list := points[mtu]
		tap := line{label: fmt.Sprintf("path MTU %d", mtu), color: colors[mtu]}
		said := line{label: fmt.Sprintf("%d as ib_write_bw reported", mtu), color: colors[mtu], rings: true}
		wait, share := tap, tap
		ticks = ticks[:0]
		for _, p := range list {
			tap.points = append(tap.points, point{p.LossPct, 100 * p.rate / list[0].rate})
			said.points = append(said.points, point{p.LossPct, 100 * p.ReportedAvg / list[0].ReportedAvg})
			wait.points = append(wait.points, point{p.LossPct, 100 * p.waiting})
			share.points = append(share.points, point{p.LossPct, 100 * p.newShare})
			ticks = append(ticks, p.LossPct)
		}
		goodput.lines = append(goodput.lines, tap, said)
		waiting.lines = append(waiting.lines, wait)
		fresh.lines = append(fresh.lines, share)
	}
	return drawSVG([]panel{goodput, fresh, waiting}, ticks)
}

const lossIntro = `# What loss costs

<!-- Written by "go test ./pipeline/groundtruth -update" from the sweep_* captures. -->

RoCE is said to fall apart above 0.1 %% of loss. This is the shape of it, measured: one RC queue pair writes %d packets in
messages of %d KiB from A to B (Linux Soft-RoCE, virtual machines, about %d packets in flight, ACK timeout 67 ms), while
a share of the data packets is dropped ahead of the tap, which is at B. ACKs are not dropped. All figures are from the
captures, as rocelens reports them; beside them is what ib_write_bw said at the end.

![Goodput, new data and waiting against the loss rate](loss.svg)
`

const lossTable = `
| loss | lost | tries | by timer | sent again | for each lost | new data | waiting | goodput MiB/s | ib_write_bw | of no loss |
|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
`

func lossDoc(points map[int][]sweepPoint) string {
	var b strings.Builder
	first := points[sweepMTUs[0]][0]
	fmt.Fprintf(&b, lossIntro, first.Needed, first.Message>>10, inFlight)
	for _, mtu := range sweepMTUs {
		list := points[mtu]
		fmt.Fprintf(&b, "\n## Path MTU %d\n%s", mtu, lossTable)
		for _, p := range list {
			each := "-"
			if p.lost > 0 {
				each = fmt.Sprintf("%.0f", p.perLost())
			}
			fmt.Fprintf(&b, "| %g %% | %d | %d | %d | %d | %s | %.1f %% | %.1f %% | %.2f | %.2f | %.0f %% |\n", p.LossPct, p.lost, p.tries, p.byTimer,
				p.again, each, 100*p.newShare, 100*p.waiting, p.rate, p.ReportedAvg, 100*p.rate/list[0].rate)
		}
	}
	b.WriteString(lossLessons)
	return b.String()
}

// inFlight is the most packets that Soft-RoCE has outstanding.
const inFlight = 128
