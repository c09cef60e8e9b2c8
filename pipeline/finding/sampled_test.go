package finding_test

import (
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/finding"
	"github.com/rocelens/rocelens/pipeline/record"
	"github.com/rocelens/rocelens/pipeline/scenario"
)

// kept is a capture in memory.
type kept struct {
	list   []capture.Frame
	inputs []capture.Input
}

func (k *kept) WriteFrame(f *capture.Frame, _ ...string) error {
	g := *f
	g.Data = slices.Clone(f.Data)
	k.list = append(k.list, g)
	return nil
}

func (k *kept) ReadBatch(b *capture.Batch) error {
	if len(k.list) == 0 {
		return io.EOF
	}
	n := min(capture.BatchFrames, len(k.list))
	b.Frames = append(b.Frames[:0], k.list[:n]...)
	k.list = k.list[n:]
	return nil
}

func (k *kept) Inputs() []capture.Input {
	if k.inputs == nil {
		return []capture.Input{{Path: "simulated"}}
	}
	return k.inputs
}
func (*kept) Close() error { return nil }

// find is what is found in it.
func (k *kept) find(t *testing.T) (*finding.Facts, []record.Finding) {
	t.Helper()
	src := *k
	res, err := pipeline.Run(context.Background(), &src, pipeline.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	f := &finding.Facts{Inputs: k.Inputs(), Result: res}
	all := finding.Find(f)
	for i := range all {
		documented(t, &all[i])
	}
	return f, all
}

// notOfSamples are the findings that a capture can't carry that holds a part of
// the packets.
var notOfSamples = []string{
	"lost-before-tap", "lost-after-tap", "go-back-n", "ack-timeout", "answer-late", "answer-lost", "uc-ud-missing", "silence", "selective-repeat", "reordering",
	"undecided", "capture-loss", "retry-exhausted", "retrying-at-end", "rnr-exhausted", "unanswered", "protocol-error",
}

// sampled says whether the findings are those of a sample, and complains where
// they say more than it can.
func sampled(t *testing.T, name string, all []record.Finding) bool {
	t.Helper()
	codes := above(all, record.Info)
	if !slices.Contains(codes, "sampled-capture") {
		return false
	}
	for _, code := range codes {
		if slices.Contains(notOfSamples, code) {
			t.Errorf("%s: %s of a sample", name, code)
		}
	}
	return true
}

func simulate(t *testing.T, spec *scenario.Spec) (*kept, *scenario.Truth) {
	t.Helper()
	k := new(kept)
	truth, err := scenario.Run(spec, k)
	if err != nil {
		t.Fatal(err)
	}
	return k, truth
}

// TestSampledScenarios: the sample is told from captures that are whole, or
// nearly so, whatever happened in them.
func TestSampledScenarios(t *testing.T) {
	for _, sc := range scenario.Scenarios() {
		for seed := range uint64(5) {
			spec, err := sc.Spec(scenario.Options{Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			if spec == nil {
				continue
			}
			k, _ := simulate(t, spec)
			_, all := k.find(t)
			if got := sampled(t, sc.Name, all); got != (sc.Name == "sampled") {
				t.Errorf("%s, seed %d: sampled %v", sc.Name, seed, got)
			}
		}
	}
}

// TestSampledAtRandom: a mirror that loses a few packets by chance is none that
// samples, and one that loses most of them is as good as one; what is lost on
// the network besides makes no difference.
func TestSampledAtRandom(t *testing.T) {
	for _, name := range []string{"clean_write", "clean_send", "clean_read", "clean_mixed", "loss_before", "loss_after", "loss_read_response", "rnr", "cnp", "interleaved", "many_qps"} {
		sc, err := scenario.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(5) {
			for _, thin := range []float64{0.005, 0.02, 0.05, 0.5, 0.75, 0.9} {
				spec, err := sc.Spec(scenario.Options{Seed: seed})
				if err != nil {
					t.Fatal(err)
				}
				spec.Tap.Thin = thin
				k, truth := simulate(t, spec)
				_, all := k.find(t)
				const few = 32 // tell nothing
				if got := sampled(t, name, all); got != (thin >= 0.5) && truth.Frames > few {
					t.Errorf("%s, seed %d: of %d frames %d are there; sampled %v", name, seed, truth.Frames+truth.Tap.Lost, truth.Frames, got)
				}
			}
		}
	}
}

// TestSampledShare: what share of the packets the capture holds is about right,
// and what the finding says follows from it.
func TestSampledShare(t *testing.T) {
	sc, err := scenario.Find("cnp")
	if err != nil {
		t.Fatal(err)
	}
	for n, say := range map[int]string{2: " % of the packets:", 4: "about one packet in 4:", 16: "about one packet in 1"} {
		spec, err := sc.Spec(scenario.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		spec.Tap.Thin = 1 - 1/float64(n)
		k, truth := simulate(t, spec)
		_, all := k.find(t)
		f := find(t, all, "sampled-capture")
		held := float64(truth.Frames) / float64(truth.Frames+truth.Tap.Lost)
		if times := f.Evidence.Get("share").(float64) / held; times < 0.75 || times > 1.33 {
			t.Errorf("one in %d: %.2f times what it holds", n, times)
		}
		if !strings.Contains(f.Title, say) || f.Severity != record.Warning || !strings.Contains(f.Title, "losses, retransmissions and latencies can't be judged from it") {
			t.Errorf("one in %d: %s", n, f.Title)
		}
	}
}

// TestSampledCaptures: of real captures none is a sample, and samples of them
// are, but for those that are too short.
func TestSampledCaptures(t *testing.T) {
	for _, c := range capturetest.All(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			src, err := capture.Open(c.Path, capture.DefaultConfig())
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			whole := new(kept)
			err = pipeline.EachBatch(context.Background(), src, func(b *capture.Batch) error {
				for i := range b.Frames {
					_ = whole.WriteFrame(&b.Frames[i])
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			whole.inputs = src.Inputs()
			for _, n := range []int{4, 16} {
				r := rand.New(rand.NewPCG(uint64(n), 5))
				some := &kept{inputs: whole.inputs}
				requests := make(map[uint64]map[uint32]bool) // PSNs by flow
				dec := decode.New(decode.Config{})
				var p decode.Packet
				for i := range whole.list {
					if r.IntN(n) != 0 {
						continue
					}
					some.list = append(some.list, whole.list[i])
					if dec.Decode(&whole.list[i], &p); p.Has&decode.HasBTH != 0 && p.Opcode < 0x0d {
						k := uint64(p.DestQP)<<32 | p.Dst.Lo&0xffffffff
						if requests[k] == nil {
							requests[k] = make(map[uint32]bool)
						}
						requests[k][p.PSN] = true
					}
				}
				most := 0
				for _, psns := range requests {
					most = max(most, len(psns))
				}
				_, all := some.find(t)
				if got := sampled(t, c.Name, all); !got && most >= 64 {
					t.Errorf("one in %d, %d requests in one flow: not a sample: %v", n, most, above(all, record.Info))
				}
			}
		})
	}
}

// TestSampledInPart: where one flow of two is sampled, the losses of the other
// are reported, and its own are not.
func TestSampledInPart(t *testing.T) {
	loss, err := scenario.Find("loss_before")
	if err != nil {
		t.Fatal(err)
	}
	var both kept
	for i, thin := range []float64{0, 0.75} {
		spec, err := loss.Spec(scenario.Options{Seed: uint64(i) + 1})
		if err != nil {
			t.Fatal(err)
		}
		spec.Tap.Thin = thin
		for j := range spec.Sessions {
			spec.Sessions[j].A.Host, spec.Sessions[j].B.Host = 2*i, 2*i+1
		}
		k, _ := simulate(t, spec)
		both.list = append(both.list, k.list...)
	}
	slices.SortStableFunc(both.list, func(a, b capture.Frame) int { return int(a.Time - b.Time) })
	for i := range both.list {
		both.list[i].Number = uint64(i) + 1
	}
	_, all := both.find(t)
	if f := find(t, all, "sampled-capture"); f.Evidence.Get("sessions_affected") != uint64(1) || !strings.Contains(f.Title, "only of 10.0.0.3/") {
		t.Errorf("%s: %+v", f.Title, f.Evidence)
	}
	f := find(t, all, "lost-before-tap")
	if f.Evidence.Get("sessions_affected") != uint64(1) || !strings.Contains(f.Title, "between 10.0.0.1 and") {
		t.Errorf("%s: %+v", f.Title, f.Evidence)
	}
}

// TestProofOfCaptureLoss: what the mirror's numbers and the capturing side's
// count say stands where sessions show that the capture lost packets.
func TestProofOfCaptureLoss(t *testing.T) {
	run := func(name string, change func(*kept, *scenario.Truth)) ([]record.Finding, *scenario.Truth) {
		sc, err := scenario.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		spec, err := sc.Spec(scenario.Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		k, truth := simulate(t, spec)
		change(k, truth)
		_, all := k.find(t)
		return all, truth
	}
	all, truth := run("thinned_erspan", func(*kept, *scenario.Truth) {})
	gaps, lost := find(t, all, "mirror-gaps"), find(t, all, "capture-loss")
	missing := gaps.Evidence.Get("missing").(uint64)
	if missing != truth.Tap.Lost || lost.Evidence.Get("mirror_missing") != missing || lost.Evidence.Get("capture_drops") != nil ||
		gaps.Evidence.Get("missing_in_sessions") != lost.Evidence.Get("packets") {
		t.Errorf("%d lost by the mirror: %+v, %+v", truth.Tap.Lost, gaps, lost)
	}
	if !strings.Contains(lost.Detail, "The mirror's sequence numbers confirm it: "+strconv.FormatUint(truth.Tap.Lost, 10)+" frames are missing") || !strings.Contains(gaps.Detail, " missing: requests that were acknowledged and never seen") {
		t.Errorf("%s %s", lost.Detail, gaps.Detail)
	}
	// The same frames with numbers that have no gap: it was the mirror.
	all, _ = run("thinned_erspan", func(k *kept, _ *scenario.Truth) {
		for i := range k.list {
			binary.BigEndian.PutUint32(k.list[i].Data[38:], uint32(i))
		}
	})
	if lost = find(t, all, "capture-loss"); lost.Evidence.Get("mirror_missing") != uint64(0) || !strings.Contains(lost.Detail, "have no gap, so nothing was lost behind it") ||
		slices.Contains(above(all, record.Info), "mirror-gaps") {
		t.Errorf("%+v", lost)
	}
	all, truth = run("thinned_counted", func(k *kept, truth *scenario.Truth) { k.inputs = []capture.Input{{Path: "c", Drops: &truth.Tap.Lost}} })
	drops := find(t, all, "capture-drops")
	if lost = find(t, all, "capture-loss"); lost.Evidence.Get("capture_drops") != truth.Tap.Lost || lost.Evidence.Get("mirror_missing") != nil ||
		!strings.Contains(lost.Detail, "The capturing side counted "+strconv.FormatUint(truth.Tap.Lost, 10)+" drops of its own") || drops.Evidence.Get("missing_in_sessions") != lost.Evidence.Get("packets") {
		t.Errorf("%+v %+v", lost, drops)
	}
	// Losses of the network, while the capture loses some as well.
	all, _ = run("thinned_with_loss", func(k *kept, truth *scenario.Truth) { k.inputs = []capture.Input{{Path: "c", Drops: &truth.Tap.Lost}} })
	if f := find(t, all, "lost-before-tap"); !strings.Contains(f.Detail, "The capture lost packets of its own as well (") {
		t.Errorf("%+v", f)
	}
	all, _ = run("thinned_with_loss", func(*kept, *scenario.Truth) {})
	if f := find(t, all, "lost-before-tap"); strings.Contains(f.Detail, "of its own") {
		t.Errorf("%+v", f)
	}
}
