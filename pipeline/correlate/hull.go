package correlate

import (
	"cmp"
	"math"
	"slices"
)

// point is a packet in the plane of time and clock difference, in ns.
type point struct{ x, y float64 }

// mirrored are points upside down.
func mirrored(points []point) []point {
	out := make([]point, len(points))
	for i, p := range points {
		out[i] = point{p.x, -p.y}
	}
	return out
}

// lowerHull are the corners of the line that points hang on from below, from
// left to right.
func lowerHull(points []point) []point {
	points = slices.Clone(points)
	slices.SortFunc(points, func(a, b point) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.y, b.y)) })
	var hull []point
	for _, p := range points {
		for len(hull) >= 2 {
			a, b := hull[len(hull)-2], hull[len(hull)-1]
			if (b.x-a.x)*(p.y-a.y)-(p.x-a.x)*(b.y-a.y) > 0 {
				break
			}
			hull = hull[:len(hull)-1]
		}
		hull = append(hull, p)
	}
	return hull
}

// lowest is where the highest line of a slope that is below all points crosses
// time 0.
func lowest(hull []point, slope float64) float64 {
	low := math.Inf(1)
	for _, p := range hull {
		low = min(low, p.y-slope*p.x)
	}
	return low
}

// argMax is where a concave function is at its highest between two bounds; in
// the middle of where it is all but that, since corners are made by few
// packets.
func argMax(f func(float64) float64, lo, hi float64) float64 {
	a, b := lo, hi
	for range 200 {
		third := (b - a) / 3
		if f(a+third) < f(b-third) {
			a += third
		} else {
			b -= third
		}
	}
	best := (a + b) / 2
	const close = 1 // ns: less than stamps tell
	level := f(best) - close
	return (crossing(f, best, lo, level) + crossing(f, best, hi, level)) / 2
}

// crossing is where a concave function falls to a level between its highest
// point and a bound; the bound where it does not.
func crossing(f func(float64) float64, top, bound, level float64) float64 {
	if f(bound) >= level {
		return bound
	}
	in, out := top, bound
	for range 100 {
		if mid := (in + out) / 2; f(mid) >= level {
			in = mid
		} else {
			out = mid
		}
	}
	return in
}

// middleAbove is the median of points above a line of a slope through 0.
func middleAbove(points []point, slope float64) float64 {
	values := make([]float64, len(points))
	for i, p := range points {
		values[i] = p.y - slope*p.x
	}
	slices.Sort(values)
	return values[len(values)/2]
}
