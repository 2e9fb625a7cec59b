package recent

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAValueIsReused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		taken := 0
		value := New(func() int {
			taken++
			return taken
		})
		var readers sync.WaitGroup
		for range 100 {
			readers.Go(func() { assert.Equal(t, 1, value.Latest()) })
		}
		readers.Wait()
		time.Sleep(MaxAge)
		require.Equal(t, 2, value.Latest())
	})
}
