package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/driver"
	"github.com/bobbin-yarn/bobbin/executorbackend"
	"github.com/bobbin-yarn/bobbin/internal/function"
	"github.com/bobbin-yarn/bobbin/internal/identity"
)

func rss() string {
	b, _ := os.ReadFile("/proc/self/statm")
	var a, r int
	fmt.Sscan(string(b), &a, &r)
	return fmt.Sprintf("%.1f MB", float64(r*4096)/1e6)
}

func main() {
	function.Register("noop", func(context.Context, function.Call) ([]byte, error) { return nil, nil })
	if len(os.Args) > 1 && os.Args[1] == "exec" {
		pass, _ := hex.DecodeString(os.Getenv("PASS"))
		logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
		err := executorbackend.Run(context.Background(), executorbackend.Options{ID: os.Args[2], Host: "h", Cores: 2, Logger: logger}, os.Args[3], pass)
		fmt.Println(err, rss())
		os.Exit(executorbackend.ExitCode(err))
	}
	id, _ := identity.New()
	d, err := driver.New(driver.Options{Identity: id, BindAddress: "127.0.0.1:0"})
	if err != nil {
		panic(err)
	}
	var cmds []*exec.Cmd
	for i := range 2 {
		c := exec.Command(os.Args[0], "exec", strconv.Itoa(i), d.Addr())
		c.Env = append(os.Environ(), "PASS="+hex.EncodeToString(id.Pass()))
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		c.Start()
		cmds = append(cmds, c)
	}
	for d.Status().Totals.Executors < 2 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(500 * time.Millisecond)
	show := func(when string) {
		fmt.Println(when, "driver", rss())
		for _, c := range cmds {
			b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", c.Process.Pid))
			var a, r int
			fmt.Sscan(string(b), &a, &r)
			fmt.Printf("  executor %.1f MB\n", float64(r*4096)/1e6)
		}
	}
	show("idle")
	run := func(n int) {
		for _, err := range d.Run(context.Background(), driver.Job{Name: "noop", Function: "noop", Tasks: make([]driver.TaskSpec, n)}) {
			if err != nil {
				panic(err)
			}
		}
	}
	for range 6 {
		t := time.Now()
		run(20000)
		fmt.Printf("%.0f tasks/s\n", 20000/time.Since(t).Seconds())
	}
	var rtt []time.Duration
	for range 2000 {
		t := time.Now()
		run(1)
		rtt = append(rtt, time.Since(t))
	}
	slices.Sort(rtt)
	fmt.Println("rtt median", rtt[1000], "p99", rtt[1980])
	show("after")
	debug.FreeOSMemory()
	show("after free")
	d.Stop(context.Background())
	for _, c := range cmds {
		c.Wait()
	}
}
