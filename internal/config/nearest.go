package config

import (
	"slices"
	"strings"
)

// didYouMean returns a suggestion of the candidate nearest to name, to be appended to an error
// message. It returns "" if Nearest finds no candidate.
func didYouMean(name string, candidates []string) string {
	if nearest, ok := Nearest(name, candidates); ok {
		return ", did you mean " + nearest + "?"
	}
	return ""
}

// Nearest returns the candidate with the smallest edit distance to name. If several candidates
// have this distance, it returns the first of them in byte order. It returns false if the
// distance is more than a third of name's length.
func Nearest(name string, candidates []string) (string, bool) {
	best, distance := "", len(name)/3+1
	for _, candidate := range slices.Sorted(slices.Values(candidates)) {
		if d := editDistance(strings.ToLower(name), strings.ToLower(candidate)); d < distance {
			best, distance = candidate, d
		}
	}
	return best, best != ""
}

// editDistance returns the minimum number of insertions, deletions, replacements and
// swaps of neighbours that turn a into b.
func editDistance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
