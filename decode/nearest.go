package decode

import "strings"

// NearestField finds the field whose name is most like one that does not
// exist, or "".
func NearestField(name string) string {
	name = strings.ToLower(name)
	best, distance := "", 1+len(name)/3
	for _, f := range table.fields {
		d := EditDistance(name, f.Name)
		if strings.HasSuffix(f.Name, "."+name) { // psn for infiniband.bth.psn
			d = 1
		}
		if d < distance {
			best, distance = f.Name, d
		}
	}
	return best
}

// EditDistance is the number of characters to insert, delete or replace to
// make a of b (Levenshtein).
func EditDistance(a, b string) int {
	row := make([]int, len(b)+1) // the distances of a's beginning to b's beginnings
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
