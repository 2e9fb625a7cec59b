package driver_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/internal/wire"
)

func TestCredentialsReachExecutorsOfEveryAge(t *testing.T) {
	log := &lockedBuffer{}
	d := start(t, driver.Options{Logger: log.logger()})
	first := join(t, d, "1", "h1", 1)

	d.SetCredentials([]byte("one"))
	got := first.recv().GetCredentials()
	require.Equal(t, "one", string(got.GetContent()))
	first.send(&wire.ExecutorMessage{CredentialsVersion: got.GetVersion()})
	await(t, d, func(driver.Status) bool {
		return strings.Contains(log.String(), "all executors have the newest delegation tokens")
	})

	// The second executor is sent the tokens when it registers, and does not acknowledge them.
	second := attachPuppet(t, d)
	second.send(&wire.ExecutorMessage{Register: &wire.Register{ExecutorId: "2", Host: "h2", Cores: 1, Version: wire.Version}})
	message := second.recv()
	require.NotNil(t, message.GetRegistered())
	require.Equal(t, "one", string(message.GetCredentials().GetContent()))

	d.SetCredentials([]byte("two"))
	for _, p := range []*puppet{first, second} {
		newer := p.recv().GetCredentials()
		require.Equal(t, "two", string(newer.GetContent()))
		require.Greater(t, newer.GetVersion(), got.GetVersion())
	}
	require.Contains(t, log.String(), "have not acknowledged the delegation tokens before")
	require.Contains(t, log.String(), "executors=2")
}
