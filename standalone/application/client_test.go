package application

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

func TestADriverIsSubmittedToTheLeaderAndItsFilesToAll(t *testing.T) {
	n := newNetwork()
	masters := []*fakeMaster{n.start(t, "one:1", "two:1"), n.start(t, "two:1", ""), n.start(t, "three:1", "two:1")}
	path := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(path, []byte("program"), 0o700))
	files, err := ReadFiles([]LocalFile{{Path: path, Name: "program"}, {Path: path, Name: "again"}})
	require.NoError(t, err)
	client := Connect([]string{"one:1", "three:1", "dead:1"}, n.dial())
	defer client.Close()
	reply, err := client.Submit(t.Context(), &protocol.DriverDescription{Name: "d"}, files)
	require.NoError(t, err)
	require.Equal(t, "driver-1", reply.GetDriverId())
	for _, master := range masters {
		require.Len(t, master.contents, 1, master.address)
	}
	require.Len(t, masters[1].submits, 1)
	require.Equal(t, "again", masters[1].submits[0].GetDescription().GetFiles()[0].GetName())
	require.Equal(t, "program", masters[1].submits[0].GetDescription().GetProgram().GetName())

	_, err = client.Driver(t.Context(), "driver-9")
	require.ErrorContains(t, err, "there is no driver driver-9")
}

func TestADriverNeedsAProgram(t *testing.T) {
	client := Connect([]string{"one:1"}, newNetwork().dial())
	defer client.Close()
	_, err := client.Submit(t.Context(), &protocol.DriverDescription{}, nil)
	require.ErrorContains(t, err, "a driver needs a program")
	_, err = ReadFiles([]LocalFile{{Path: filepath.Join(t.TempDir(), "none")}})
	require.ErrorIs(t, err, os.ErrNotExist)
}
