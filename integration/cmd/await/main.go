// Command await waits until the cluster of docker/compose.yaml is usable.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

func main() {
	nameNode := flag.String("namenode", "127.0.0.1:9870", "the NameNode's web address")
	resourceManager := flag.String("resourcemanager", "127.0.0.1:8088", "the ResourceManager's web address")
	workers := flag.Int("workers", 3, "how many workers there are to be")
	timeout := flag.Duration("timeout", 3*time.Minute, "how long to wait")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	for {
		missing := cluster.CheckReady(ctx, *nameNode, *resourceManager, *workers, nil)
		if missing == nil {
			fmt.Printf("the cluster is up: http://%s and http://%s; make docker-shell opens a shell in it, make docker-down ends it\n",
				*resourceManager, *nameNode)
			return
		}
		select {
		case <-time.After(time.Second / 4):
		case <-ctx.Done():
			fmt.Fprintf(os.Stderr, "await: the cluster is not ready: %v: look at the logs with: docker ps -a; docker logs CONTAINER\n", missing)
			os.Exit(1)
		}
	}
}
