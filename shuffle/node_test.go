package shuffle

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/block"
	"github.com/bobbin-yarn/bobbin/block/transfer"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/shufflehandler"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/shufflehandler/shufflehandlertest"
)

var testSecret = []byte("the application's secret")

// newTestNode starts the shuffle service of a node.
func newTestNode(t testing.TB, locals ...string) *shufflehandlertest.Service {
	return shufflehandlertest.Start(t, ServicePassword(testSecret), locals...)
}

// on sets the shuffle service that serves the executor's outputs to n. If n is nil, the
// executor can only read from shuffle services.
func (x *executor) on(n *shufflehandlertest.Service) *executor {
	options := NodeOptions{Application: shufflehandlertest.Application, Secret: testSecret, Timeout: 5 * time.Second}
	if n != nil {
		options.Address, options.Directories = n.Address(), n.Locals
	}
	x.Service.node = newNode(options)
	return x
}

func TestOutputsOutliveTheirExecutorsOnNodes(t *testing.T) {
	config := access(t)
	node := newTestNode(t, t.TempDir(), t.TempDir())
	one, same := newExecutor(t, config, "1", "a").on(node), newExecutor(t, config, "2", "a").on(node)
	peer, plain := newExecutor(t, config, "3", "b").on(nil), newExecutor(t, config, "4", "c").on(nil)
	const partitions = 3
	pairs := [][]pair{randomPairs(1, 9000), randomPairs(2, 30), randomPairs(3, 9000), nil, randomPairs(4, 100)}
	outputs := []Output{
		write(t, one.Service, MapID{1, 0, 0}, partitions, 0, pairs[0]), // several spills
		write(t, one.Service, MapID{1, 1, 0}, partitions, 0, pairs[1]),
		write(t, one.Service, MapID{1, 2, 0}, partitions, 64<<20, pairs[2]), // all records are in memory until Commit
		write(t, one.Service, MapID{1, 3, 0}, partitions, 0, pairs[3]),
		write(t, plain.Service, MapID{1, 4, 0}, partitions, 0, pairs[4]),
	}
	var all []pair
	for i := range outputs {
		all = append(all, pairs[i]...)
		if i < 4 {
			require.Equal(t, node.Address(), outputs[i].Node)
		}
	}
	require.Empty(t, outputs[4].Node)
	require.Empty(t, files(t, one.Service), "runs stay")
	stored, err := os.ReadFile(outputs[1].Path)
	require.NoError(t, err)
	require.NotContains(t, string(stored), "xxxxxxxxxx", "the data is not encrypted")

	check := func(what string, readers ...*executor) {
		t.Helper()
		for _, reader := range readers {
			for partition := range partitions {
				got, err := fetchAll(t.Context(), reader.Service, outputs, partition)
				require.NoError(t, err, what)
				require.True(t, slices.Equal(ofPartition(all, partition, partitions), got), what)
			}
		}
	}
	tried := node.Requests.Load()
	check("all executors are there", one, same, peer)
	require.Equal(t, tried, node.Requests.Load(), "the service is asked without need")

	node.Cut.Store(true)
	one.server.Close()
	one.Close()
	check("the executor has ended", same, peer)
	require.Greater(t, node.Requests.Load(), tried)
	for i := range 4 {
		outputs[i].Address = ""
	}
	node.Cut.Store(true)
	check("the driver knows that it has ended", same, peer)

	lonely := newExecutor(t, config, "5", "d")
	_, err = fetchAll(t.Context(), lonely.Service, outputs[:1], 0)
	requireFetchError(t, err, outputs[0], 0, transfer.ErrUnreachable)

	same.Remove(1)
	for _, local := range node.Locals {
		left, err := os.ReadDir(filepath.Join(local, "output"))
		require.NoError(t, err)
		require.Empty(t, left, "outputs of the executor that has ended stay")
	}
	_, err = fetchAll(t.Context(), peer.Service, outputs[:1], 0)
	requireFetchError(t, err, outputs[0], 0, block.ErrNotFound)
	node.Close()
	_, err = fetchAll(t.Context(), peer.Service, outputs[:1], 0)
	requireFetchError(t, err, outputs[0], 0, transfer.ErrUnreachable)
}

func TestDamagedOutputsOfNodesAreFound(t *testing.T) {
	config := access(t)
	node := newTestNode(t, t.TempDir())
	one, same, peer := newExecutor(t, config, "1", "a").on(node), newExecutor(t, config, "2", "a").on(node), newExecutor(t, config, "3", "b").on(nil)
	out := write(t, one.Service, MapID{1, 0, 0}, 1, 0, randomPairs(1, 1000))
	other := write(t, one.Service, MapID{1, 1, 0}, 1, 0, randomPairs(2, 1000))
	ended := out
	ended.Address = ""

	flip(t, out.Path, 10_000)
	for reader, output := range map[*executor]Output{one: out, same: out, peer: ended} {
		_, err := fetchAll(t.Context(), reader.Service, []Output{output}, 0)
		requireFetchError(t, err, output, 0, block.ErrDamaged)
	}
	for _, name := range []string{shufflehandler.DataFile, shufflehandler.IndexFile} {
		content, err := os.ReadFile(filepath.Join(filepath.Dir(other.Path), name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(out.Path), name), content, 0o600))
	}
	_, err := fetchAll(t.Context(), peer.Service, []Output{ended}, 0)
	requireFetchError(t, err, ended, 0, block.ErrDamaged)
}

func TestOutputsOfNodesAreAdopted(t *testing.T) {
	config := access(t)
	node := newTestNode(t, t.TempDir())
	one := newExecutor(t, config, "1", "a").on(node)
	pairs := randomPairs(1, 2000)
	out := write(t, one.Service, MapID{1, 0, 0}, 2, 0, pairs)
	for id, host := range map[string]string{"2": "a", "3": "b"} {
		adopter := newExecutor(t, config, id, host).on(nil)
		adopted, err := adopter.Adopt(t.Context(), out)
		require.NoError(t, err)
		require.Empty(t, adopted.Node)
		for partition := range 2 {
			got, err := fetchAll(t.Context(), adopter.Service, []Output{adopted}, partition)
			require.NoError(t, err)
			require.Equal(t, ofPartition(pairs, partition, 2), got)
		}
	}
}

func TestAServiceThatDoesNotWorkIsNotUsed(t *testing.T) {
	working := newTestNode(t, t.TempDir())
	stranger := shufflehandlertest.Start(t, []byte("another"), t.TempDir())
	for _, test := range []struct {
		name    string
		options NodeOptions
		problem string
	}{
		{"no service", NodeOptions{}, "yarn.nodemanager.aux-services"},
		{"another password", NodeOptions{Address: stranger.Address(), Directories: stranger.Locals}, "401"},
		{"other directories", NodeOptions{Address: working.Address(), Directories: []string{t.TempDir()}}, "output/bobbin_"},
		{"no directories", NodeOptions{Address: working.Address()}, "LOCAL_DIRS"},
		{"a lost disk", NodeOptions{Address: working.Address(), Directories: []string{"/nonexistent"}}, "no such file"},
		{"nobody listens", NodeOptions{Address: "127.0.0.1:1", Directories: working.Locals}, "cannot be reached"},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.options.Application, test.options.Secret = shufflehandlertest.Application, testSecret
			s := newService(t)
			s.node = newNode(test.options)
			kept, err := s.KeepsOnNode()
			require.NoError(t, err)
			require.False(t, kept)
			out := write(t, s, MapID{1, 0, 0}, 1, 0, randomPairs(1, 10))
			require.Empty(t, out.Node)
			require.False(t, isSealed(out.Path))

			test.options.Required = true
			s.node = newNode(test.options)
			_, err = s.KeepsOnNode()
			require.ErrorContains(t, err, "shuffle.service is required")
			require.ErrorContains(t, err, test.problem)
			w := s.NewWriter(MapID{1, 1, 0}, 1, 0)
			require.NoError(t, w.Add(0, nil, nil))
			_, err = w.Commit()
			require.ErrorContains(t, err, "shuffle.service is required")
		})
	}
	left, err := filepath.Glob(working.Locals[0] + "/output/*")
	require.NoError(t, err)
	require.Empty(t, left)
}

// With LinuxContainerExecutor, the NodeManager reads the files as a member of their group. New
// files inherit the group of the application's directory. The umask 077 works here because the
// test's user is a member of that group (see makeDirectory).
func TestTheGroupMayReadOutputsOfNodes(t *testing.T) {
	for _, umask := range []int{0o027, 0o077, 0} {
		t.Run(fmt.Sprintf("umask %03o", umask), func(t *testing.T) {
			local := t.TempDir()
			require.NoError(t, os.Chmod(local, 0o750|os.ModeSetgid))
			node := newTestNode(t, local)
			s := newExecutor(t, access(t), "1", "a").on(node)
			before := syscall.Umask(umask)
			out := write(t, s.Service, MapID{1, 0, 0}, 1, 0, randomPairs(1, 10))
			syscall.Umask(before)
			directory := filepath.Dir(out.Path)
			for _, path := range []string{directory, filepath.Dir(directory)} {
				info, err := os.Stat(path)
				require.NoError(t, err)
				require.Equal(t, os.ModeDir|os.ModeSetgid|0o750, info.Mode(), path)
			}
			for _, path := range []string{out.Path, indexPath(out.Path)} {
				info, err := os.Stat(path)
				require.NoError(t, err)
				require.Equal(t, os.FileMode(0o640), info.Mode(), path)
			}
		})
	}
}

func TestFetchingFromANodeEndsWithItsContext(t *testing.T) {
	node := newTestNode(t, t.TempDir())
	one := newExecutor(t, access(t), "1", "a").on(node)
	out := write(t, one.Service, MapID{1, 0, 0}, 1, 0, randomPairs(1, 5000))
	out.Address, out.Host, out.ExecutorID = "", "elsewhere", "gone"
	for range one.Fetch(t.Context(), []Output{out}, 0) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := fetchAll(ctx, one.Service, []Output{out}, 0)
	require.ErrorIs(t, err, context.Canceled)
}
