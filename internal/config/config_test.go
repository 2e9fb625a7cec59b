package config

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bobbin.conf")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestPrecedence(t *testing.T) {
	file := write(t, "# a comment\nexecutor.memory 3g\nexecutor.cores=5\nyarn.queue: batch\nlocality.wait 1s\nlocality.wait.node 2s\n")
	c, err := Load(Sources{
		Flags:          map[string]string{"executor.memory": "1g"},
		Environ:        []string{"BOBBIN_EXECUTOR_MEMORY=2g", "BOBBIN_EXECUTOR_CORES=4", "BOBBIN_LAUNCH_ROLE=am", "PATH=/bin"},
		PropertiesFile: file,
	})
	require.NoError(t, err)
	require.Equal(t, GiB, ExecutorMemory.In(c), "a flag is above all")
	require.Equal(t, 4, ExecutorCores.In(c), "the environment is above the file")
	require.Equal(t, "batch", Queue.In(c), "the file is above the default")
	require.Equal(t, 4, TaskMaxFailures.In(c), "the default is below all")
	process, node, rack := LocalityWaits(c)
	require.Equal(t, []time.Duration{time.Second, 2 * time.Second, time.Second}, []time.Duration{process, node, rack})
	require.Equal(t, file+":4", c.Source("yarn.queue"))
	require.Equal(t, "default", c.Source("task.maxFailures"))
}

func TestErrorsNameKeyValueAndSource(t *testing.T) {
	tests := []struct {
		name    string
		sources Sources
		want    []string
	}{
		{"mistyped key", Sources{Flags: map[string]string{"executor.memroy": "1g"}}, []string{`unknown key "executor.memroy"`, "did you mean executor.memory?"}},
		{"Spark's key", Sources{Flags: map[string]string{"spark.executor.memory": "1g"}}, []string{`write "executor.memory"`}},
		{"no size", Sources{Flags: map[string]string{"executor.memory": "lots"}}, []string{`executor.memory="lots"`, "the command line", "512m"}},
		{"no number", Sources{Environ: []string{"BOBBIN_EXECUTOR_CORES=many"}}, []string{"BOBBIN_EXECUTOR_CORES", "whole number"}},
		{"too small", Sources{Flags: map[string]string{"executor.cores": "0"}}, []string{"1 or more"}},
		{"no choice", Sources{Flags: map[string]string{"log.level": "debgu"}}, []string{"did you mean debug?"}},
		{"unknown variable", Sources{Environ: []string{"BOBBIN_EXECUTOR_MEMROY=1g"}}, []string{"did you mean BOBBIN_EXECUTOR_MEMORY?"}},
		{"both are told", Sources{Flags: map[string]string{"executor.cores": "x", "task.cpus": "y"}}, []string{"executor.cores", "task.cpus"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Load(test.sources)
			require.Error(t, err)
			for _, want := range test.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

func TestPropertiesFileErrorsNameTheLine(t *testing.T) {
	for name, text := range map[string]string{
		"no value":    "yarn.queue batch\nlonely\n",
		"unknown key": "yarn.queue batch\nyarn.qeue x\n",
		"bad value":   "yarn.queue batch\nexecutor.cores many\n",
	} {
		t.Run(name, func(t *testing.T) {
			file := write(t, text)
			_, err := Load(Sources{PropertiesFile: file})
			require.ErrorContains(t, err, file+":2")
		})
	}
	_, err := Load(Sources{PropertiesFile: "/does/not/exist"})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestSettingsReachContainersUnchanged(t *testing.T) {
	c, err := Load(Sources{Flags: map[string]string{"executorEnv.TZ": "UTC", "executor.memory": "2g", "hadoop.dfs.replication": "2"}})
	require.NoError(t, err)
	again, err := FromMap(c.Map())
	require.NoError(t, err)
	require.Equal(t, c.Map(), again.Map())
	require.Equal(t, map[string]string{"TZ": "UTC"}, ExecutorEnv.In(again))
	require.Equal(t, map[string]string{"dfs.replication": "2"}, Hadoop.In(again))
	require.Equal(t, 2*GiB, ExecutorMemory.In(again))

	changed, err := again.With(map[string]string{"executor.memory": "3g"})
	require.NoError(t, err)
	require.Equal(t, 3*GiB, ExecutorMemory.In(changed))
	require.Equal(t, 2*GiB, ExecutorMemory.In(again), "the original does not change")
}

func TestEveryDefaultIsValid(t *testing.T) {
	require.NotPanics(t, func() { Default() })
	for _, setting := range Settings() {
		require.NoError(t, setting.check(setting.Default), setting.Key)
		require.NotEmpty(t, setting.Meaning, setting.Key)
	}
}

func TestParseSize(t *testing.T) {
	for text, want := range map[string]Size{
		"512m": 512 * MiB, "2g": 2 * GiB, "1024": GiB, "1T": TiB, "64kb": 64 * KiB, "7b": 7, "0": 0, " 3 g ": 3 * GiB,
	} {
		got, err := ParseSize(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "m", "-1m", "1.5g", "9999999999t", "1x"} {
		_, err := ParseSize(text)
		require.Error(t, err, text)
	}
	require.Equal(t, int64(1), Size(1).MiB())
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"100": 100 * time.Millisecond, "30s": 30 * time.Second, "5m": 5 * time.Minute, "5min": 5 * time.Minute,
		"7d": 7 * 24 * time.Hour, "1m30s": 90 * time.Second, "250ms": 250 * time.Millisecond, "0": 0,
	} {
		got, err := ParseDuration(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "s", "-5s", "1 fortnight", "999999999999d"} {
		_, err := ParseDuration(text)
		require.Error(t, err, text)
	}
}

func FuzzParseSize(f *testing.F) {
	for _, seed := range []string{"512m", "2g", "", "-1", "99999999999999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		size, err := ParseSize(text)
		if err != nil {
			return
		}
		again, err := ParseSize(size.String())
		if err != nil || again != size {
			t.Fatalf("%q is %d, written %q, read again %d, %v", text, size, size.String(), again, err)
		}
	})
}
