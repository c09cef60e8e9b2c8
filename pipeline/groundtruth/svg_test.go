package groundtruth_test

import (
	"fmt"
	"math"
	"strings"
)

// panel is one graph over the loss rate: a logarithmic axis, with the rate 0
// apart at its left.
type panel struct {
	title  string
	max    float64 // of the vertical axis
	step   float64 // between its lines
	format string  // of its labels
	lines  []line
}

// line is one series.
type line struct {
	label  string
	color  string
	rings  bool // rings at its points and no line
	points []point
}

type point struct{ x, y float64 }

// The picture in pixels. A panel is panelWidth wide, the graph in it has room
// for labels at its left and below.
const (
	panelWidth, panelHeight = 320, 300
	plotLeft, plotTop       = 52, 40
	plotWidth, plotHeight   = 250, 200
	legendHeight            = 40
)

// xOf places a loss rate in percent: 0 at the left edge, 0.01 to 5 over the
// rest.
func xOf(pct float64) float64 {
	const lowest, highest, zeroRoom = 0.01, 5, 0.12
	if pct == 0 {
		return 0
	}
	return zeroRoom + (1-zeroRoom)*math.Log(pct/lowest)/math.Log(highest/lowest)
}

// drawSVG draws panels side by side, with one legend below: the lines of the
// first panel.
func drawSVG(panels []panel, xTicks []float64) string {
	var b strings.Builder
	w, h := panelWidth*len(panels), panelHeight+legendHeight
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n", w, h, w, h)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", w, h)
	for i, p := range panels {
		p.draw(&b, float64(i*panelWidth+plotLeft), plotTop, xTicks)
	}
	drawLegend(&b, panels[0].lines)
	b.WriteString("</svg>\n")
	return b.String()
}

func (p panel) draw(b *strings.Builder, left, top float64, xTicks []float64) {
	const bottom = plotTop + plotHeight
	fmt.Fprintf(b, `<text x="%.0f" y="%.0f" font-weight="bold">%s</text>`+"\n", left, top-14, p.title)
	for y := 0.0; y <= p.max+p.step/2; y += p.step {
		at := bottom - y/p.max*plotHeight
		fmt.Fprintf(b, `<path d="M%.1f %.1fh%d" stroke="#ddd"/><text x="%.1f" y="%.1f" text-anchor="end" fill="#555">%s</text>`+"\n",
			left, at, plotWidth, left-6, at+4, fmt.Sprintf(p.format, y))
	}
	for _, x := range xTicks {
		at := left + xOf(x)*plotWidth
		fmt.Fprintf(b, `<path d="M%.1f %dv4" stroke="#555"/><text x="%.1f" y="%d" text-anchor="middle" fill="#555">%g</text>`+"\n", at, bottom, at, bottom+17, x)
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle" fill="#555">packets lost, %%</text>`+"\n", left+plotWidth/2, bottom+34)
	for _, l := range p.lines {
		l.draw(b, left, p.max)
	}
}

func (l line) draw(b *strings.Builder, left, maximum float64) {
	var path, dots strings.Builder
	for i, p := range l.points {
		x, y := left+xOf(p.x)*plotWidth, plotTop+plotHeight-min(p.y/maximum, 1)*plotHeight
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", command, x, y)
		dots.WriteString(l.dot(x, y))
	}
	if !l.rings {
		fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="1.8"/>`+"\n", path.String(), l.color)
	}
	b.WriteString(dots.String() + "\n")
}

// dot marks a point.
func (l line) dot(x, y float64) string {
	if l.rings {
		return fmt.Sprintf(`<circle cx="%.1f" cy="%.1f" r="5.5" fill="none" stroke="%s"/>`, x, y, l.color)
	}
	return fmt.Sprintf(`<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"/>`, x, y, l.color)
}

func drawLegend(b *strings.Builder, lines []line) {
	x := float64(plotLeft)
	const y = panelHeight + 18
	for _, l := range lines {
		if !l.rings {
			fmt.Fprintf(b, `<path d="M%.0f %dh26" stroke="%s" stroke-width="1.8"/>`, x, y-4, l.color)
		}
		fmt.Fprintf(b, `%s<text x="%.0f" y="%d">%s</text>`+"\n", l.dot(x+13, y-4), x+32, y, l.label)
		x += 56 + 6*float64(len(l.label))
	}
}
