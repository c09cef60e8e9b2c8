package report_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rocelens/rocelens/capture"
	"github.com/rocelens/rocelens/capture/capturetest"
	"github.com/rocelens/rocelens/dashboards/report"
	"github.com/rocelens/rocelens/decode"
	"github.com/rocelens/rocelens/pipeline"
	"github.com/rocelens/rocelens/pipeline/finding"
)

// analyze makes the report of one capture.
func analyze(t *testing.T, path string) *report.Report {
	t.Helper()
	src, err := capture.Open(path, capture.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	c, err := pipeline.Run(context.Background(), src, pipeline.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	inputs := src.Inputs()
	return report.New(inputs, c, finding.Find(&finding.Facts{Inputs: inputs, Result: c}), "test")
}

// TestGroundTruth holds the report of every capture against what other tools
// found in it.
func TestGroundTruth(t *testing.T) {
	for _, c := range capturetest.All(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			truth := capturetest.LoadTruth(t, c)
			r := analyze(t, c.Path)
			equal(t, "capture", figures(r), wanted(t, truth))
			equal(t, "opcodes", toInt(r.Opcodes.Map()), truth.OpcodeTotals())
			equal(t, "encapsulations", nonZero(r.Capture.Encapsulations), truth.Encapsulations(t))
			equal(t, "syndromes", syndromes(r), truth.SyndromeTotals())
			if in := r.Inputs[0]; in.DamagedAt != nil {
				t.Errorf("damaged: %s", in.Damage)
			}
			tsharkAgrees(t, r, truth)
		})
	}
}

type captureFigures struct {
	Packets, RoCE, Other, Snapped int
	Bad, Unverifiable, Good       int
}

func figures(r *report.Report) captureFigures {
	return captureFigures{
		Packets: int(r.Capture.Packets), RoCE: int(r.Capture.RoCE.Total()), Other: int(r.Capture.Other),
		Snapped: int(r.Capture.Truncated - r.Capture.TruncatedMirror),
		Bad:     int(*r.ICRC.Bad), Unverifiable: int(r.ICRC.Unverifiable), Good: int(*r.ICRC.Good),
	}
}

func wanted(t *testing.T, truth *capturetest.Truth) captureFigures {
	s := truth.Summary
	return captureFigures{
		Packets: s.Packets, RoCE: s.RoCEPackets, Other: s.NonRoCEPackets, Snapped: s.SnaplenTruncated,
		Bad: s.ICRCBad, Unverifiable: s.ICRCNotCheckable, Good: s.RoCEPackets - s.ICRCBad - s.ICRCNotCheckable,
	}
}

// syndromes are the report's AETHs under the names of the truth, which counts
// those of the opcode Acknowledge.
func syndromes(r *report.Report) map[string]int {
	a := r.AETH
	return nonZero(map[string]uint64{
		"ACK": a.Acks, "RNR_NAK": a.RNRNaks, "NAK_PSN_SEQ": a.Naks.Sequence, "NAK_INVALID_REQ": a.Naks.InvalidRequest,
		"NAK_REM_ACCESS": a.Naks.RemoteAccess, "NAK_REM_OP": a.Naks.RemoteOperational,
		"SYN_9f": a.Reserved, // the one reserved syndrome that occurs, in a corrupt packet
	})
}

// tsharkAgrees compares with tshark's count of opcodes, which includes the
// packets that ICMP errors quote, and leaves out what tshark does not take as
// RoCE because its headers are corrupt.
func tsharkAgrees(t *testing.T, r *report.Report, truth *capturetest.Truth) {
	t.Helper()
	if truth.Tshark.InfiniBandFrames != truth.Summary.RoCEPackets {
		return
	}
	got := make(map[uint8]int)
	for _, o := range r.Opcodes {
		got[uint8(o.Opcode)] = int(o.Packets)
	}
	equal(t, "opcodes by number", got, truth.TsharkOpcodes(t))
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (- truth, + report):\n%s", what, d)
	}
}

func toInt(m map[string]uint64) map[string]int {
	out := make(map[string]int, len(m))
	for k, n := range m {
		out[k] = int(n)
	}
	return out
}

func nonZero(m map[string]uint64) map[string]int {
	out := make(map[string]int)
	for k, n := range m {
		if n > 0 {
			out[k] = int(n)
		}
	}
	return out
}

// TestCommittedCapturesCoverOpcodes keeps the module's own captures as rich as
// they are: without the large collection they are all there is to test on.
func TestCommittedCapturesCoverOpcodes(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range capturetest.Committed(t) {
		for name := range capturetest.LoadTruth(t, c).OpcodeTotals() {
			seen[name] = true
		}
	}
	for _, c := range capturetest.All(t) {
		for name := range capturetest.LoadTruth(t, c).OpcodeTotals() {
			if !seen[name] {
				t.Errorf("%s is in %s and in no capture of testdata", name, c.Name)
			}
		}
	}
	if !seen[decode.OpCNP.String()] {
		t.Error("no CNP")
	}
}
