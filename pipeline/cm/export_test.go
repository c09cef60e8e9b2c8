package cm

// Indexed is how many IDs a Tracker remembers.
func (t *Tracker) Indexed() int { return len(t.index) }
