//go:build integration

package acceptance

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWordCountEqualsACountMadeWithoutBobbin(t *testing.T) {
	t.Parallel()
	in, out := sourcesText(t), output(t)
	done := yarnSubmit(t, "submit", "--master", "yarn", "--num-executors", "2", program("wordcount"), in.path, out)
	require.Equal(t, 0, done.code)
	assertCounts(t, in.words, out)
	assertNothingLeft(t, done.applicationID(t))
}
