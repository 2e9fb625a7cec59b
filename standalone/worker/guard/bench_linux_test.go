package guard

import (
	"os"
	"testing"
)

// BenchmarkSweep measures a sweep that finds nothing.
func BenchmarkSweep(b *testing.B) {
	since, err := Started(os.Getpid())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		found := map[int]Time{}
		if err := findProcesses("guard-benchmark/", map[int]bool{}, since, found, map[int]bool{}); err != nil || len(found) != 0 {
			b.Fatal(found, err)
		}
	}
}
