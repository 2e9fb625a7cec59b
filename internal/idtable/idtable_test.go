package idtable

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestItIsAMap does the same to a table and to a map.
func TestItIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table Table[uint64, int]
		model := map[uint64]*int{}
		id := rapid.Custom(func(t *rapid.T) uint64 {
			return rapid.SampledFrom([]uint64{0, pageSize, 7 * pageSize, 1 << 63}).Draw(t, "page") + rapid.Uint64Range(0, 3).Draw(t, "place")
		})
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				id, value := id.Draw(t, "id"), new(int)
				table.Put(id, value)
				model[id] = value
			},
			"delete": func(t *rapid.T) {
				id := id.Draw(t, "id")
				table.Delete(id)
				delete(model, id)
			},
			"get": func(t *rapid.T) {
				id := id.Draw(t, "id")
				require.Same(t, model[id], table.Get(id))
			},
			"": func(t *rapid.T) {
				require.Equal(t, len(model), table.Len())
				there := map[*int]bool{}
				for value := range table.All() {
					there[value] = true
				}
				want := map[*int]bool{}
				for value := range maps.Values(model) {
					want[value] = true
				}
				require.Equal(t, want, there)
			},
		})
	})
}

// TestEmptyPagesAreForgotten puts and deletes a million ids that follow each
// other, while an old one stays.
func TestEmptyPagesAreForgotten(t *testing.T) {
	var table Table[uint64, int]
	value := new(int)
	table.Put(0, value)
	for id := uint64(1); id <= 1_000_000; id++ {
		table.Put(id, value)
		if id > 1000 {
			table.Delete(id - 1000)
		}
	}
	require.Equal(t, 1001, table.Len())
	require.LessOrEqual(t, len(table.pages), 1000/pageSize+3)
}
