package yarnrest_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// resourceManager starts a server that simulates a cluster's ResourceManager for the examples.
func resourceManager() *httptest.Server {
	mux := http.NewServeMux()
	answer := func(pattern string, status int, body string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, body)
		})
	}
	const app = "application_1700000000000_0001"
	answer("POST /ws/v1/cluster/apps/new-application", 200, `{"application-id":"`+app+`","maximum-resource-capability":{"memory":8192,"vCores":4}}`)
	answer("POST /ws/v1/cluster/apps", 202, "")
	answer("GET /ws/v1/cluster/apps/"+app, 200, `{"app":{"id":"`+app+`","state":"FINISHED","finalStatus":"SUCCEEDED"}}`)
	return httptest.NewServer(mux)
}

// This example submits an application whose ApplicationMaster is a shell command, and waits
// for its end.
func Example() {
	rm := resourceManager()
	defer rm.Close()

	client, err := yarnrest.New(yarnrest.Options{Addresses: []string{rm.URL}, User: "ann"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.CloseIdleConnections()
	ctx := context.Background()

	app, err := client.NewApplication(ctx)
	if err != nil {
		log.Fatal(err)
	}
	want := yarnrest.Resource{MemoryMB: 256, VCores: 1}
	if err := want.Check(app.MaximumAllocation); err != nil {
		log.Fatal(err)
	}
	err = client.SubmitApplication(ctx, &yarnrest.SubmissionContext{
		ID:       app.ID,
		Name:     "hello",
		Resource: want,
		AM:       yarnrest.ContainerSpec{Commands: []string{"echo hello 1><LOG_DIR>/stdout"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	for {
		report, err := client.Application(ctx, app.ID)
		if err != nil {
			log.Fatal(err)
		}
		if report.State.Ended() {
			fmt.Println(report.ID, report.State, report.FinalStatus)
			return
		}
		time.Sleep(time.Second)
	}
	// Output: application_1700000000000_0001 FINISHED SUCCEEDED
}
