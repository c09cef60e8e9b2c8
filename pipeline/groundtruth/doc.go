// Package groundtruth holds what the tracker finds in real captures against
// what the kernels of the hosts counted and what the fault injection dropped
// or marked meanwhile. It is tests alone, and none of them looks at how the
// tracker works: drop lists, counters and the printed output of the programs
// that ran are all they rest on.
//
// What cannot be known at a tap is in one table, by capture and with the
// reason. docs/ground-truth.md is written from it and from a run.
package groundtruth
