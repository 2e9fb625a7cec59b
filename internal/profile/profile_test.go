package profile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

func TestProfilesOfTheSettings(t *testing.T) {
	settings, err := config.FromMap(map[string]string{
		"executor.memory": "2g", "executor.memoryOverheadFactor": "0.5", "executor.cores": "3",
		"executor.resource.gpu.amount": "1", "yarn.executor.nodeLabelExpression": "fast", "yarn.executor.executionType": "opportunistic",
		"driver.memory": "1g", "driver.memoryOverhead": "64m", "driver.cores": "2", "driver.resource.gpu.amount": "4",
		"yarn.am.nodeLabelExpression": "slow",
	})
	require.NoError(t, err)
	executor := Default(settings)
	require.Equal(t, Profile{
		ID: DefaultID, Memory: 2 * config.GiB, Overhead: config.GiB, Cores: 3,
		Resources: map[string]int64{"yarn.io/gpu": 1}, NodeLabel: "fast", Opportunistic: true,
	}, executor)
	require.Equal(t, 3*config.GiB, executor.Container())
	require.Equal(t, Profile{
		Memory: config.GiB, Overhead: 64 * config.MiB, Cores: 2, Resources: map[string]int64{"yarn.io/gpu": 4}, NodeLabel: "slow",
	}, Master(settings))

	client, err := settings.With(map[string]string{"submit.deployMode": "client", "yarn.am.memoryOverhead": "1m", "yarn.am.resource.disk.amount": "7"})
	require.NoError(t, err)
	require.Equal(t, Profile{
		Memory: 512 * config.MiB, Overhead: config.MiB, Cores: 1, Resources: map[string]int64{"disk": 7}, NodeLabel: "slow",
	}, Master(client), "the driver's settings are those of the client's process then")
}

func TestSame(t *testing.T) {
	base := Profile{ID: 1, Memory: 1, Overhead: 2, Cores: 3, Resources: map[string]int64{"a": 1}, NodeLabel: "l"}
	same := base
	same.ID, same.Resources = 2, map[string]int64{"a": 1}
	require.True(t, base.Same(same))
	for name, change := range map[string]func(*Profile){
		"memory":        func(p *Profile) { p.Memory++ },
		"overhead":      func(p *Profile) { p.Overhead++ },
		"cores":         func(p *Profile) { p.Cores++ },
		"resources":     func(p *Profile) { p.Resources = map[string]int64{"a": 2} },
		"label":         func(p *Profile) { p.NodeLabel = "" },
		"opportunistic": func(p *Profile) { p.Opportunistic = true },
	} {
		changed := base
		change(&changed)
		require.False(t, base.Same(changed), name)
	}
}
