//go:build !race

package main

// underRace is how many times fewer captures are gone through under the race
// detector, which takes ten times as long.
const underRace = 1
