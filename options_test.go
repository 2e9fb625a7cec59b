package bobbin

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/profile"
)

func TestResourceProfileDefaultsToSettings(t *testing.T) {
	settings, err := config.FromMap(map[string]string{
		"executor.memory": "2g", "executor.memoryOverheadFactor": "0.5", "executor.cores": "3",
		"yarn.executor.resource.yarn.io/gpu.amount": "1", "yarn.executor.nodeLabelExpression": "fast",
	})
	require.NoError(t, err)
	same := profile.Default(settings)
	tests := []struct {
		name   string
		wanted ResourceProfile
		change func(p *profile.Profile)
	}{
		{"nothing", ResourceProfile{}, func(*profile.Profile) {}},
		{"memory", ResourceProfile{Memory: "8g"}, func(p *profile.Profile) { p.Memory, p.Overhead = 8*config.GiB, 4*config.GiB }},
		{"overhead", ResourceProfile{Overhead: "1g"}, func(p *profile.Profile) { p.Overhead = config.GiB }},
		{"no overhead", ResourceProfile{Memory: "4g", Overhead: "0"}, func(p *profile.Profile) { p.Memory, p.Overhead = 4*config.GiB, 0 }},
		{"cores", ResourceProfile{Cores: 7}, func(p *profile.Profile) { p.Cores = 7 }},
		{"resources", ResourceProfile{Resources: map[string]int64{"yarn.io/fpga": 2, "licences": 0}},
			func(p *profile.Profile) { p.Resources = map[string]int64{"yarn.io/fpga": 2} }},
		{"no resources", ResourceProfile{Resources: map[string]int64{}}, func(p *profile.Profile) { p.Resources = nil }},
		{"label", ResourceProfile{NodeLabel: "gpu"}, func(p *profile.Profile) { p.NodeLabel = "gpu" }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := same
			test.change(&want)
			got, err := test.wanted.profile(settings)
			require.NoError(t, err)
			require.Equal(t, want, *got)
			require.True(t, want.Same(*got))
		})
	}
}

func TestInvalidResourceProfiles(t *testing.T) {
	for want, wanted := range map[string]ResourceProfile{
		`memory "much" of the resource profile`: {Memory: "much"},
		`memory "0" of the resource profile`:    {Memory: "0"},
		`overhead "-1" of the resource profile`: {Overhead: "-1"},
		`-2 cores in the resource profile`:      {Cores: -2},
		`memory is set by executor.memory`:      {Resources: map[string]int64{"memory-mb": 3}},
		`"yarn io" is no resource type`:         {Resources: map[string]int64{"yarn io": 3}},
		`want a whole number`:                   {Resources: map[string]int64{"yarn.io/gpu": -1}},
	} {
		_, err := wanted.profile(config.Default())
		require.ErrorContains(t, err, want)
	}
}
