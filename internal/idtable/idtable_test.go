package idtable

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestItIsAMap does the same to a table and to a map.
func TestItIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table Table[uint64, int]
		next := 1
		model := map[uint64]int{}
		id := rapid.Custom(func(t *rapid.T) uint64 {
			return rapid.SampledFrom([]uint64{0, pageSize, 7 * pageSize, 1 << 63}).Draw(t, "page") + rapid.SampledFrom([]uint64{0, 1, pageSize - 1}).Draw(t, "place")
		})
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				id := id.Draw(t, "id")
				if model[id] != 0 {
					t.Skip("it is there")
				}
				value := table.Add(id)
				require.Zero(t, *value)
				*value = next
				model[id] = next
				next++
			},
			"delete": func(t *rapid.T) {
				id := id.Draw(t, "id")
				table.Delete(id)
				delete(model, id)
			},
			"get": func(t *rapid.T) {
				id := id.Draw(t, "id")
				if value := table.Get(id); model[id] == 0 {
					require.Nil(t, value)
				} else {
					require.Equal(t, model[id], *value)
				}
			},
			"": func(t *rapid.T) {
				require.Equal(t, len(model), table.Len())
				there, want := map[int]bool{}, map[int]bool{}
				for value := range table.All() {
					there[*value] = true
				}
				for _, value := range model {
					want[value] = true
				}
				require.Equal(t, want, there)
			},
		})
	})
}

// TestEmptyPagesAreForgotten adds and deletes a million ids that follow each
// other, while an old one stays: little memory is taken for all of them.
func TestEmptyPagesAreForgotten(t *testing.T) {
	var table Table[uint64, int]
	table.Add(0)
	for id := uint64(1); id <= 1_000_000; id++ {
		table.Add(id)
		if id > 1000 {
			table.Delete(id - 1000)
		}
	}
	require.Equal(t, 1001, table.Len())
	require.LessOrEqual(t, len(table.pages), 1000/pageSize+3)
	require.LessOrEqual(t, len(table.spare), 2)
}

// TestSpareMemoryIsBounded has very many values at a time, once.
func TestSpareMemoryIsBounded(t *testing.T) {
	var table Table[uint64, int]
	for id := range uint64(4 * mostSpare) {
		table.Add(id)
	}
	for id := range uint64(4 * mostSpare) {
		table.Delete(id)
	}
	require.Zero(t, table.Len())
	require.Empty(t, table.pages)
	require.LessOrEqual(t, len(table.spare)*pageSize, mostSpare)
}
