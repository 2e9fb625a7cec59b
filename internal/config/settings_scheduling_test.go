package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTaskResources(t *testing.T) {
	require.Nil(t, TaskResources(Default()))
	c, err := FromMap(map[string]string{"task.resource.gpu.amount": "0.5", "task.resource.nic.amount": "2", "task.resource.fpga.amount": "0"})
	require.NoError(t, err)
	require.Equal(t, map[string]float64{"gpu": 0.5, "nic": 2}, TaskResources(c))
	for key, value := range map[string]string{
		"task.resource.gpu": "1", "task.resource.gpu.vendor": "x", "task.resource.gpu.amount": "1.5", "task.resource.nic.amount": "-1",
		"task.resource.a.amount": "NaN", "speculation.quantile": "1.1", "speculation.multiplier": "0.5", "scheduler.mode": "fair",
	} {
		_, err := FromMap(map[string]string{key: value})
		require.ErrorContains(t, err, key)
	}
}

func TestANodeIsExcludedBeforeItFailsAJob(t *testing.T) {
	_, err := FromMap(map[string]string{"excludeOnFailure.enabled": "true", "task.maxFailures": "2"})
	require.EqualError(t, err, "excludeOnFailure.task.maxTaskAttemptsPerNode=2 (from default) must be less than task.maxFailures=2 "+
		"(from the submission): one bad node could fail a job before it is excluded")
	_, err = FromMap(map[string]string{"excludeOnFailure.enabled": "false", "task.maxFailures": "2"})
	require.NoError(t, err)
}
