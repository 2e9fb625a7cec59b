package client

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/bobbin-yarn/bobbin/internal/leaktest"
	"github.com/bobbin-yarn/bobbin/standalone/application"
	"github.com/bobbin-yarn/bobbin/standalone/protocol"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func testCredentials(t *testing.T) *protocol.Credentials {
	t.Helper()
	credentials, err := protocol.FromSecret(protocol.NewSecret())
	require.NoError(t, err)
	return credentials
}

func TestSubmitSendsTheDriverToTheLeaderAndItsFilesToAllMasters(t *testing.T) {
	credentials := testCredentials(t)
	leader := &fakeMaster{}
	leading := leader.serve(t, credentials)
	first, last := &fakeMaster{leader: leading}, &fakeMaster{leader: leading}
	addresses := []string{first.serve(t, credentials), last.serve(t, credentials), "127.0.0.1:1"}
	path := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(path, []byte("program"), 0o700))
	files, err := application.HashFiles([]application.LocalFile{{Path: path, Name: "program"}, {Path: path, Name: "again"}})
	require.NoError(t, err)
	masters := NewMasters(addresses, credentials.DialOptions())
	defer masters.Close()
	reply, err := masters.Submit(t.Context(), &protocol.DriverDescription{Name: "d"}, files)
	require.NoError(t, err)
	require.Equal(t, "driver-1", reply.GetDriverId())
	for _, master := range []*fakeMaster{first, leader, last} {
		require.Len(t, master.files, 1)
	}
	require.Len(t, leader.submits, 1)
	require.Equal(t, "again", leader.submits[0].GetDescription().GetFiles()[0].GetName())
	require.Equal(t, "program", leader.submits[0].GetDescription().GetProgram().GetName())

	_, err = masters.Driver(t.Context(), "driver-9")
	require.ErrorContains(t, err, "there is no driver driver-9")
	require.Equal(t, codes.NotFound, status.Code(err))
}

func TestADriverNeedsAProgram(t *testing.T) {
	masters := NewMasters([]string{"one:1"}, nil)
	defer masters.Close()
	_, err := masters.Submit(t.Context(), &protocol.DriverDescription{}, nil)
	require.ErrorContains(t, err, "a driver needs a program")
	_, err = application.HashFiles([]application.LocalFile{{Path: filepath.Join(t.TempDir(), "none")}})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestAMasterWithAnotherSecretIsReportedWithoutRetries(t *testing.T) {
	address := (&fakeMaster{}).serve(t, testCredentials(t))
	masters := NewMasters([]string{address}, testCredentials(t).DialOptions())
	defer masters.Close()
	_, err := masters.Driver(t.Context(), "driver-1")
	require.ErrorContains(t, err, "does not trust this side")
}
