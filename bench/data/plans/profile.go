package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"
)

// envProfiles names a directory for CPU profiles of this process.
const envProfiles = "BENCH_PROFILES"

// profile writes a CPU profile for each second of the process's life, if the
// environment names a directory. When the process ends, at most one is lost.
func profile() {
	dir := os.Getenv(envProfiles)
	if dir == "" {
		return
	}
	go func() {
		for i := 0; ; i++ {
			name := filepath.Join(dir, fmt.Sprintf("%d-%04d.pprof", os.Getpid(), i))
			file, err := os.Create(name)
			if err == nil {
				err = pprof.StartCPUProfile(file)
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, "profile:", err)
				return
			}
			time.Sleep(time.Second)
			pprof.StopCPUProfile()
			_ = file.Close()
		}
	}()
}
