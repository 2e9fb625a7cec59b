package shuffle

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/block"
)

func TestFileIDs(t *testing.T) {
	for _, suffix := range []string{dataSuffix, indexSuffix} {
		id, got, ok := parseFile(fileID(MapID{1, 2, 3}, suffix))
		require.True(t, ok)
		require.Equal(t, MapID{1, 2, 3}, id)
		require.Equal(t, suffix, got)
	}
	for _, id := range []block.ID{"", ".data", "shuffle_1_2_3", "shuffle_1_2_3_4.data", "shuffle_1_2.data", "shuffle_1_2_03.index", "shuffle_1_2_3.datas"} {
		_, _, ok := parseFile(id)
		require.False(t, ok, "%q", id)
	}
}
