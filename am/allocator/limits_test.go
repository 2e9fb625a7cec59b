package allocator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/profile"
)

func TestLimits(t *testing.T) {
	var l containerLimits
	p := profile.Profile{Memory: 4 << 30, Overhead: 1 << 30, Cores: 4, Resources: map[string]int64{"yarn.io/gpu": 1}}
	check := func() error { return l.check(p, containerSize(p)) }
	require.NoError(t, check(), "nothing is known yet")
	l.setFrom(&yarn.RegisterResponse{MaxResource: yarn.Resource{MemoryMB: 8192, VCores: 2}})
	require.ErrorContains(t, check(), "an executor takes 5120 MB, 4 vcores, 1 yarn.io/gpu, the most that this cluster gives is 8192 MB, 2 vcores: "+
		"lower executor.memory, executor.memoryOverhead or executor.cores, or the amount of [yarn.io/gpu]")
	l.setFrom(&yarn.RegisterResponse{MaxResource: yarn.Resource{MemoryMB: 1024, VCores: 2, Others: map[string]int64{"yarn.io/gpu": 2}}})
	require.NoError(t, check(), "a restarted ResourceManager may know less of its nodes; its scheduler does not count cores")
	l.setFrom(&yarn.RegisterResponse{MaxResource: yarn.Resource{MemoryMB: 1024, VCores: 3}, ChecksCores: true})
	require.ErrorContains(t, check(), "3 vcores")
	p.Cores = 3
	require.NoError(t, check())
	p.ID, p.Memory = 5, 9<<30
	require.ErrorContains(t, check(), "an executor of resource profile 5 takes")
}

func TestContainerSize(t *testing.T) {
	size := containerSize(profile.Profile{
		Memory: config.GiB, Overhead: config.MiB + 1, Cores: 4, Resources: map[string]int64{"yarn.io/gpu": 2},
	})
	require.Equal(t, "1026 MB, 4 vcores, 2 yarn.io/gpu", size.String())
}
