package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func load(t *testing.T, values map[string]string) *Config {
	t.Helper()
	c, err := Load(Sources{Flags: values})
	require.NoError(t, err)
	return c
}

func TestOverhead(t *testing.T) {
	tests := []struct {
		name   string
		values map[string]string
		want   Size
	}{
		{"nothing is set", nil, 0},
		{"by the factor", map[string]string{"executor.memory": "2g", "executor.memoryOverheadFactor": "0.25"}, 512 * MiB},
		{"itself, whatever the factor", map[string]string{"executor.memoryOverhead": "100m", "executor.memoryOverheadFactor": "0.5"}, 100 * MiB},
		{"0, whatever the factor", map[string]string{"executor.memoryOverhead": "0", "executor.memoryOverheadFactor": "0.5"}, 0},
		{"absurd", map[string]string{"executor.memory": "1000000t", "executor.memoryOverheadFactor": "1e300"}, 1 << 50},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.want, ExecutorOverhead.In(load(t, test.values)))
		})
	}
	c := load(t, map[string]string{"driver.memoryOverheadFactor": "0.5"})
	require.Equal(t, 512*MiB, DriverOverhead.In(c))
	require.Equal(t, 5*MiB, DriverOverhead.Of(c, 10*MiB), "of another amount of memory")
	require.Equal(t, "executor.memoryOverhead", ExecutorOverhead.Name())
}

func TestResourceTypes(t *testing.T) {
	c := load(t, map[string]string{
		"yarn.executor.resource.example.com/licenses.amount": "3",
		"executor.resource.gpu.amount":                       "2",
		"yarn.executor.resource.yarn.io/gpu.amount":          "2",
		"executor.resource.fpga.amount":                      "0",
		"yarn.am.resource.disk.amount":                       "5",
		"driver.resource.gpu.amount":                         "1",
		"yarn.resourceGpuDeviceName":                         "yarn.io/gpu",
	})
	require.Equal(t, map[string]int64{"example.com/licenses": 3, "yarn.io/gpu": 2}, ExecutorResources(c))
	require.Equal(t, map[string]int64{"disk": 5, "yarn.io/gpu": 1}, AMResources(c))
	require.Nil(t, ExecutorResources(Default()))

	renamed := load(t, map[string]string{"executor.resource.gpu.amount": "1", "yarn.resourceGpuDeviceName": "nvidia.com/gpu"})
	require.Equal(t, map[string]int64{"nvidia.com/gpu": 1}, ExecutorResources(renamed))
}

func TestValuesBelowPrefixesAreChecked(t *testing.T) {
	tests := []struct {
		name   string
		values map[string]string
		want   []string
	}{
		{"no amount", map[string]string{"yarn.executor.resource.gpu": "1"}, []string{"the key ends in .amount", "gpu.amount"}},
		{"Spark's other keys", map[string]string{"executor.resource.gpu.vendor": "x"}, []string{"the key ends in .amount"}},
		{"no number", map[string]string{"yarn.executor.resource.gpu.amount": "two"}, []string{"whole number", "the command line"}},
		{"a negative amount", map[string]string{"driver.resource.gpu.amount": "-1"}, []string{"whole number"}},
		{"no type", map[string]string{"yarn.am.resource.a b.amount": "1"}, []string{`"a b" is no resource type`}},
		{"memory", map[string]string{"yarn.executor.resource.memory-mb.amount": "1"}, []string{"executor.memory"}},
		{"cores", map[string]string{"yarn.driver.resource.vcores.amount": "1"}, []string{"executor.cores"}},
		{"two amounts", map[string]string{"executor.resource.gpu.amount": "1", "yarn.executor.resource.yarn.io/gpu.amount": "2"},
			[]string{"executor.resource.gpu.amount=1", "yarn.executor.resource.yarn.io/gpu.amount=2", "same resource type yarn.io/gpu"}},
		{"two amounts of the driver", map[string]string{"yarn.am.resource.x.amount": "1", "yarn.driver.resource.x.amount": "2"}, []string{"same resource type x"}},
		{"no factor", map[string]string{"executor.memoryOverheadFactor": "NaN"}, []string{"a number such as 0.1"}},
		{"no variable", map[string]string{"executorEnv.A-B": "1"}, []string{`executorEnv.A-B="1"`, `"A-B" is no name`}},
		{"a digit first", map[string]string{"yarn.appMasterEnv.1A": "1"}, []string{`"1A" is no name`}},
		{"bobbin's variable", map[string]string{"executorEnv.BOBBIN_LAUNCH_ROLE": "x"}, []string{"bobbin's own"}},
		{"execution type", map[string]string{"yarn.executor.executionType": "guarantee"}, []string{"did you mean guaranteed?"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Load(Sources{Flags: test.values})
			require.Error(t, err)
			for _, want := range test.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestResourcesHaveScriptsAndTaskNames(t *testing.T) {
	c, err := FromMap(map[string]string{
		"executor.resource.gpu.amount":          "2",
		"executor.resource.gpu.discoveryScript": "./gpus.sh",
		"executor.resource.licenses.amount":     "3",
	})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"gpu": "./gpus.sh"}, ResourceScripts(c))
	require.Equal(t, map[string]int64{"yarn.io/gpu": 2, "licenses": 3}, ExecutorResources(c))
	require.Equal(t, map[string]int64{"gpu": 2, "licenses": 3}, TaskResourceNames(c, ExecutorResources(c)))
}
