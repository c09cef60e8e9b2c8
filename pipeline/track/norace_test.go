//go:build !race

package track_test

// underRace is by how much there is less of what is random under the race
// detector.
const underRace = 1
