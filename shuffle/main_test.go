package shuffle

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/block/transfer"
	"github.com/bobbin-yarn/bobbin/internal/identity"
	"github.com/bobbin-yarn/bobbin/internal/leaktest"
	"github.com/bobbin-yarn/bobbin/internal/proptest"
)

func TestMain(m *testing.M) {
	proptest.Checks("20")
	leaktest.Main(m)
}

// access returns the TLS configuration for a new application.
func access(t testing.TB) *tls.Config {
	id, err := identity.New()
	require.NoError(t, err)
	pass, err := identity.ParsePass(id.Pass())
	require.NoError(t, err)
	config, err := pass.PeerTLS()
	require.NoError(t, err)
	return config
}

// executor is a service with a data port.
type executor struct {
	*Service
	server *transfer.Server
}

// newExecutor starts an executor. host is only a name. Executors with the same host read each
// other's files.
func newExecutor(t testing.TB, config *tls.Config, id, host string) *executor {
	ports := transfer.Options{TLS: config, Timeout: 5 * time.Second}
	client := transfer.NewClient(ports)
	s := New(Options{Directory: t.TempDir(), Peers: client, ExecutorID: id, Host: host, Memory: 64 << 20, Cores: 1})
	server, err := transfer.Listen("127.0.0.1:0", s.Open, ports)
	require.NoError(t, err)
	s.options.Address = server.Addr().String()
	t.Cleanup(func() { client.Close(); server.Close(); s.Close() })
	return &executor{s, server}
}

func newService(t testing.TB) *Service {
	s := New(Options{Directory: t.TempDir(), ExecutorID: "1", Host: "a"})
	t.Cleanup(s.Close)
	return s
}

type pair struct{ key, value string }

// randomPairs returns n records of various sizes.
func randomPairs(seed uint64, n int) []pair {
	random := rand.New(rand.NewPCG(seed, 0))
	pairs := make([]pair, n)
	for i := range pairs {
		pairs[i] = pair{fmt.Sprintf("key %d", random.IntN(n)), strings.Repeat("x", random.IntN(300)) + fmt.Sprint(random.Uint64())}
	}
	return pairs
}

func partitionOf(p pair, partitions int) int { return (len(p.value)*7 + len(p.key)) % partitions }

// write writes and commits a map output that has the records.
func write(t testing.TB, s *Service, id MapID, partitions int, budget int64, pairs []pair) Output {
	w := s.NewWriter(id, partitions, budget)
	defer w.Abort()
	for _, p := range pairs {
		require.NoError(t, w.Add(partitionOf(p, partitions), []byte(p.key), []byte(p.value)))
	}
	out, err := w.Commit()
	require.NoError(t, err)
	return out
}

// fetchAll returns the records of a partition, sorted.
func fetchAll(ctx context.Context, s *Service, outputs []Output, partition int) (pairs []pair, err error) {
	for records, err := range s.Fetch(ctx, outputs, partition) {
		if err != nil {
			return pairs, err
		}
		pairs = append(pairs, pairsOf(records)...)
	}
	sortPairs(pairs)
	return pairs, nil
}

func pairsOf(records Records) (pairs []pair) {
	for key, value, ok := records.Next(); ok; key, value, ok = records.Next() {
		pairs = append(pairs, pair{string(key), string(value)})
	}
	return pairs
}

func sortPairs(pairs []pair) {
	slices.SortFunc(pairs, func(a, b pair) int { return strings.Compare(a.key+"\x00"+a.value, b.key+"\x00"+b.value) })
}

// ofPartition returns the records of a partition, sorted.
func ofPartition(pairs []pair, partition, partitions int) (found []pair) {
	for _, p := range pairs {
		if partitionOf(p, partitions) == partition {
			found = append(found, p)
		}
	}
	sortPairs(found)
	return found
}

// files returns the names of all files of a service.
func files(t testing.TB, s *Service) (names []string) {
	require.NoError(t, filepath.WalkDir(s.options.Directory, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, entry.Name())
		}
		return err
	}))
	return names
}

// blockBytes returns records encoded as blocks.
func blockBytes(t testing.TB, pairs []pair) []byte {
	var out bytes.Buffer
	w := NewBlockWriter(&out)
	defer w.Release()
	for _, p := range pairs {
		require.NoError(t, w.add(appendFrame(nil, []byte(p.key), []byte(p.value))))
	}
	require.NoError(t, w.endBlock())
	require.EqualValues(t, out.Len()+len(w.out), w.offset)
	require.NoError(t, w.flush())
	return out.Bytes()
}

func requireFetchError(t testing.TB, err error, out Output, partition int, reason error) {
	var failed *FetchError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, out, failed.Output)
	require.Equal(t, partition, failed.Partition)
	require.ErrorIs(t, err, reason)
	require.ErrorContains(t, err, fmt.Sprintf("map output %s of executor %s on %s", out.MapID, out.ExecutorID, out.Host))
}
