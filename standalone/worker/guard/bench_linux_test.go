package guard

import (
	"os"
	"testing"
)

// BenchmarkSweep measures a call of Sweep that finds no process.
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
