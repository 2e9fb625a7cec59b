package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"
)

// envProfiles is an environment variable. Its value is the directory for CPU profiles of this
// process.
const envProfiles = "BENCH_PROFILES"

// profile writes one CPU profile for each second until the process ends, if envProfiles is set.
// The profile of the last second is lost.
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
