//go:build race

package decode_test

// underRace is of how many packets one is cut at every length under the race
// detector, which makes that fifty times as slow.
const underRace = 8
