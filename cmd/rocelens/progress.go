package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/rocelens/rocelens/capture"
)

// progress shows on a terminal how far reading is.
type progress struct {
	w     io.Writer
	began time.Time
	shown bool
}

// showProgress is what pipeline.Config.Progress is to call, nil where w is no
// terminal, and how to take away what it showed.
func showProgress(w io.Writer) (told func([]capture.Input), done func()) {
	file, ok := w.(*os.File)
	if !ok {
		return nil, func() {}
	}
	if _, ok := terminalWidth(file); !ok {
		return nil, func() {}
	}
	p := &progress{w: w, began: time.Now()}
	return p.told, p.done
}

const clearLine = "\r\x1b[K"

func (p *progress) told(inputs []capture.Input) {
	p.shown = true
	fmt.Fprint(p.w, clearLine+progressLine(inputs, time.Since(p.began)))
}

func (p *progress) done() {
	if p.shown {
		fmt.Fprint(p.w, clearLine)
	}
}

// progressLine is one line that says how much was read, how fast, and how long
// it will take.
func progressLine(inputs []capture.Input, took time.Duration) string {
	var frames uint64
	var pos, size int64
	known := true
	for i := range inputs {
		in := &inputs[i]
		frames += in.Frames
		pos += in.Pos
		size += in.Size
		known = known && in.Size > 0
	}
	s := fmt.Sprintf("%.1f million packets", float64(frames)/1e6)
	if seconds := took.Seconds(); seconds > 0 {
		s += fmt.Sprintf(", %.1f million a second", float64(frames)/1e6/seconds)
	}
	if known && pos > 0 && pos <= size {
		left := time.Duration(float64(took) * float64(size-pos) / float64(pos))
		s = fmt.Sprintf("%3d %%  %s, %v left", 100*pos/size, s, left.Round(time.Second))
	}
	return s
}
