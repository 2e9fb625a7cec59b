package logs

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// listedSize is the size of the log when the node listed it. The log then grows.
const listedSize = 168

// growing returns a node with a log that grows by the given number of bytes before each answer.
func growing(t *testing.T, by int) containerOnNode {
	t.Helper()
	var content strings.Builder
	grow := func(end int) {
		for content.Len() < end {
			fmt.Fprintf(&content, "%07d\n", content.Len())
		}
	}
	grow(listedSize)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		grow(content.Len() + by)
		sent := content.String()
		var tail int
		if _, err := fmt.Sscanf(r.URL.Query().Get("size"), "-%d", &tail); err == nil && tail < len(sent) {
			sent = sent[len(sent)-tail:]
		}
		fmt.Fprintf(w, "LogLength:%d\nLogContents:\n%s\nEnd of LogType:x\n", content.Len(), sent)
	}))
	t.Cleanup(server.Close)
	rest, err := yarnrest.New(yarnrest.Options{Addresses: []string{server.URL}})
	require.NoError(t, err)
	t.Cleanup(rest.CloseIdleConnections)
	manager, err := rest.NodeManager(server.URL)
	require.NoError(t, err)
	return containerOnNode{manager, "container"}
}

func TestNodeSourceOpensAGrowingFileAtAnOffset(t *testing.T) {
	for _, by := range []int{8, 8 << 10, 512 << 10} {
		for _, from := range []int64{0, 8, 160} {
			content, err := growing(t, by).Open(t.Context(), "x", listedSize, from)
			require.NoError(t, err)
			line := make([]byte, 8)
			_, err = io.ReadFull(content, line)
			require.NoError(t, err)
			require.NoError(t, content.Close())
			require.Equal(t, fmt.Sprintf("%07d\n", from), string(line), "a file that grows by %d", by)
		}
	}
}

func TestNodeSourceFailsIfTheFileIsShorter(t *testing.T) {
	_, err := growing(t, 8).Open(t.Context(), "x", 1000, 900)
	require.ErrorIs(t, err, ErrChanged)
}
