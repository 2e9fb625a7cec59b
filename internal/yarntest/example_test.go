package yarntest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/internal/yarntest"
)

// An ApplicationMaster requests a container, whose node is then lost.
func Example() {
	ctx := context.Background()
	c, err := yarntest.New(yarntest.Options{
		Nodes:         yarntest.Nodes(2000, 40, yarn.Resource{MemoryMB: 16384, VCores: 8}),
		NodeHeartbeat: 100 * time.Millisecond,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	app := c.Submit(yarntest.Submission{User: "alice"})

	am := yarn.NewAMClient(c.SchedulerAddresses(), app.Options())
	defer am.Close()
	if _, err := am.Register(ctx, yarn.RegisterRequest{Host: "here", RPCPort: -1}); err != nil {
		fmt.Println(err)
		return
	}
	request := yarn.AllocateRequest{Asks: []yarn.ResourceRequest{{
		Priority: 1, Name: yarn.AnyHost, Resource: yarn.Resource{MemoryMB: 1024, VCores: 1}, Containers: 1, RelaxLocality: true,
	}}}
	for completed := 0; completed == 0; {
		response, err := am.Allocate(ctx, request)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, container := range response.Allocated {
			c.Node(container.Node.Host).Lose()
		}
		for _, status := range response.Completed {
			completed++
			fmt.Println(status.ExitStatus)
		}
		request = yarn.AllocateRequest{ResponseID: response.ResponseID}
	}
	// Output: -100 (aborted: released by the application, or its node was lost)
}
