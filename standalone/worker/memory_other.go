//go:build !linux

package worker

func machineMemory() int64 { return 0 }
