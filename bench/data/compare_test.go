package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/bench/data/inputs"
	"github.com/bobbin-yarn/bobbin/storage"
)

func TestCompare(t *testing.T) {
	files := storage.New(storage.Options{})
	defer files.Close()
	output := func(parts ...string) string {
		dir := t.TempDir()
		for i, part := range append(parts, "") {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "part-"+string(rune('0'+i))), []byte(part), 0o600))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "_SUCCESS"), nil, 0o600))
		return dir
	}
	record := func(key string) string { return key + strings.Repeat("\n", inputs.RecordLength-len(key)) }
	a, b, c := record("a\nb"), record("b"), record("c")
	for _, test := range []struct {
		name      string
		same      compareFunc
		want, got string
		equal     bool
	}{
		{"the same lines in other files", compareLines, output("a\nb\n", "c\n"), output("c\n", "b\n", "a\n"), true},
		{"another line", compareLines, output("a\nb\n"), output("a\nc\n"), false},
		{"a line twice", compareLines, output("a\n"), output("a\na\n"), false},
		{"the same order", compareLinesInOrder, output("a\nb\n", "c\n"), output("a\n", "b\nc\n"), true},
		{"another order", compareLinesInOrder, output("a\nb\n"), output("b\na\n"), false},
		{"nearly the same ranks", compareRanks, output("p\t1\nq\t0.15\n"), output("q\t0.15000000001\np\t1E0\n"), true},
		{"another rank", compareRanks, output("p\t1\n"), output("p\t1.1\n"), false},
		{"no rank", compareRanks, output("p\t1\n"), output("p\tNaN\n"), false},
		{"a missing page", compareRanks, output("p\t1\nq\t1\n"), output("p\t1\n"), false},
		{"a page twice", compareRanks, output("p\t1\n"), output("p\t1\np\t1\n"), false},
		{"sorted records", checkSortedRecords, output(c+a, b), output(a, b+c), true},
		{"records in another order", checkSortedRecords, output(c+a, b), output(a, c+b), false},
		{"a record twice", checkSortedRecords, output(c+a, b), output(a+b, b), false},
		{"a record too many", checkSortedRecords, output(c+a, b), output(a+b, b+c), false},
		{"a part of a record", checkSortedRecords, output(a), output(a, "b"), false},
	} {
		err := test.same(t.Context(), files, test.want, test.got)
		require.Equal(t, test.equal, err == nil, "%s: %v", test.name, err)
	}
}
