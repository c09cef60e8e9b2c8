//go:build race

package track_test

// underRace is by how much there is less of what is random under the race
// detector: it makes everything some ten times as slow, and looks for something else
// than what random captures show.
const underRace = 20
