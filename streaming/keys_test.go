package streaming

import (
	"bytes"
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestFieldsSplitLines(t *testing.T) {
	for _, test := range []struct {
		fields           fields
		line, key, value string
		separated        bool
	}{
		{fields{"\t", 1}, "a\tb\tc", "a", "b\tc", true},
		{fields{"\t", 2}, "a\tb\tc", "a\tb", "c", true},
		{fields{"\t", 3}, "a\tb\tc", "a\tb\tc", "", false},
		{fields{"\t", 1}, "abc", "abc", "", false},
		{fields{"\t", 1}, "", "", "", false},
		{fields{"\t", 1}, "\t", "", "", true},
		{fields{".", 4}, "11.12.1.2.x", "11.12.1.2", "x", true},
		{fields{"::", 2}, "a::b::::c", "a::b", "::c", true},
	} {
		key, value, separated := test.fields.split([]byte(test.line))
		require.Equal(t, []any{test.key, test.value, test.separated}, []any{string(key), string(value), separated}, test)
	}
}

// The expected partitions were computed by hand for short keys, with the formulas of
// Hadoop's HashPartitioner and KeyFieldBasedPartitioner.
func TestPartitionsAreThoseOfHadoop(t *testing.T) {
	partition := func(options, key string, n int) int {
		parsed, err := parseKeyOptions(options, "\t")
		require.NoError(t, err)
		return parsed.partition([]byte(key), n)
	}
	require.EqualValues(t, (31*1+'a')%1000, partition("", "a", 1000))
	require.EqualValues(t, (31*(31*1+'a')+'b')%1000, partition("", "ab", 1000))
	require.Equal(t, 1, partition("", "", 1000))
	require.Equal(t, ((31*1+0xc3-256)&0x7fffffff)%1000, partition("", "\xc3", 1000), "bytes have signs")
	require.EqualValues(t, (31*'b'+'c')%1000, partition("-k2,2", "a\tbc\td", 1000))
	require.EqualValues(t, (31*'a'+'c')%1000, partition("-k1,1 -k3,3", "a\tb\tc", 1000))
	require.Equal(t, 0, partition("-k4", "a\tb\tc", 1000), "there is no such field")
	require.Equal(t, partition("-k1,1", "a\tb", 1000), partition("-k1,1", "a\tc", 1000))
}

// order sorts keys according to options, and returns them separated by commas.
func order(t *testing.T, options string, keys ...string) string {
	t.Helper()
	parsed, err := parseKeyOptions(options, "\t")
	require.NoError(t, err)
	sorted := make([][2]string, len(keys))
	for i, key := range keys {
		sorted[i] = [2]string{string(parsed.appendSortKey(nil, []byte(key))), key}
	}
	slices.SortStableFunc(sorted, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	for i, key := range sorted {
		keys[i] = key[1]
	}
	return strings.Join(keys, ",")
}

func TestKeysAreSortedByFields(t *testing.T) {
	require.Equal(t, "9,10,100", order(t, "-n", "100", "9", "10"))
	require.Equal(t, "100,10,9", order(t, "-nr", "100", "9", "10"))
	require.Equal(t, "b,ab,a", order(t, "-r", "a", "b", "ab"))
	require.Equal(t, "-10,-9.5,-9,x,0,00,-0,0.5,.6,1,1.05,1.50", order(t, "-n", "1", "-9", "x", "0.5", "-10", "0", "00", "-0", ".6", "-9.5", "1.50", "1.05"))
	require.Equal(t, "a\t3,b\t2,a\t1", order(t, "-k2,2nr", "a\t1", "b\t2", "a\t3"))
	require.Equal(t, "a\t2,a\t10,b\t1", order(t, "-k1,1 -k2,2n", "b\t1", "a\t10", "a\t2"))
	require.Equal(t, "b\t1,a\t2,a\t10", order(t, "-k1,1r -k 2n", "a\t10", "a\t2", "b\t1"))
	require.Equal(t, "x,a\t1,b\t2", order(t, "-k2", "b\t2", "a\t1", "x"), "a key without the field is first")
	require.Equal(t, "b\t2,a\t1,x", order(t, "-k2r", "x", "a\t1", "b\t2"), "or last")
	require.Equal(t, "xb1,xa2", order(t, "-k1.3", "xa2", "xb1"))
	require.Equal(t, "xa2,xb1", order(t, "-k1.2,1.2", "xb1", "xa2"))
	require.Equal(t, "a,a\x00,a\x00b,a\x01,ab", order(t, "-k1", "ab", "a\x00b", "a\x01", "a", "a\x00"))
}

func TestWrongKeyOptions(t *testing.T) {
	for options, want := range map[string]string{
		"-k": "-k : fields are counted from 1", "-k0": "fields are counted from 1", "-k1.0": "characters are counted from 1",
		"-k1,x": "fields are counted from 1", "-x": `"-x" is not known: want -k, -n, -r`, "k1": `"k1" is not known`, "-k1x": "fields are counted",
		"-k99999999999": "fields are counted from 1",
	} {
		_, err := parseKeyOptions(options, "\t")
		require.ErrorContains(t, err, want, options)
	}
}

// decimal generates a decimal number, and returns its text and its value.
func decimal(t *rapid.T, name string) (string, *big.Rat) {
	text := rapid.StringMatching(`-?[0-9]{1,25}(\.[0-9]{0,5})?`).Draw(t, name)
	number, ok := new(big.Rat).SetString(strings.TrimSuffix(text, "."))
	require.True(t, ok)
	return text, number
}

func TestNumbersAreSortedByValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, numberA := decimal(t, "a")
		b, numberB := decimal(t, "b")
		got := bytes.Compare(appendNumber(nil, []byte(a)), appendNumber(nil, []byte(b)))
		require.Equal(t, numberA.Cmp(numberB), got, "%s and %s", a, b)
	})
}

// Keys that consist of several parts are compared part by part. This requires that no encoded
// part is a prefix of another.
func TestSeveralKeysAreComparedInTurn(t *testing.T) {
	o, err := parseKeyOptions("-k1,1 -k2,2r -k3,3n", "|")
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.Custom(func(t *rapid.T) [3]string {
			text := rapid.StringMatching("[\x00\x01ab\u00ff]{1,3}")
			return [3]string{text.Draw(t, "first"), text.Draw(t, "second"), fmt.Sprint(rapid.IntRange(-20, 20).Draw(t, "third"))}
		})
		a, b := key.Draw(t, "a"), key.Draw(t, "b")
		number := func(text string) (n int) { _, _ = fmt.Sscan(text, &n); return n }
		want := cmp.Or(strings.Compare(a[0], b[0]), strings.Compare(b[1], a[1]), cmp.Compare(number(a[2]), number(b[2])))
		got := bytes.Compare(o.appendSortKey(nil, []byte(strings.Join(a[:], "|"))), o.appendSortKey(nil, []byte(strings.Join(b[:], "|"))))
		require.Equal(t, want, got)
	})
}
