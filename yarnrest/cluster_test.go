package yarnrest

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func redirect(to string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
}

func TestNodes(t *testing.T) {
	one := `{"rack":"/r1","state":"RUNNING","id":"n1:45454","nodeHostName":"n1","nodeHTTPAddress":"n1:8042","lastHealthUpdate":1700000000000,
		"version":"3.4.3","healthReport":"","numContainers":2,"usedMemoryMB":1024,"availMemoryMB":3072,"usedVirtualCores":1,"availableVirtualCores":7,"nodeLabels":["gpu"]}`
	want := Node{ID: "n1:45454", Host: "n1", Rack: "/r1", HTTPAddress: "n1:8042", State: "RUNNING", Version: "3.4.3", LastHealthUpdate: time.UnixMilli(1700000000000),
		Containers: 2, UsedMemoryMB: 1024, AvailableMemoryMB: 3072, UsedVCores: 1, AvailableVCores: 7, Labels: []string{"gpu"}}
	for name, test := range map[string]struct {
		body string
		want []Node
	}{
		"a list":         {`{"nodes":{"node":[` + one + `,` + one + `]}}`, []Node{want, want}},
		"an object":      {`{"nodes":{"node":` + one + `}}`, []Node{want}},
		"none":           {`{"nodes":{}}`, nil},
		"null":           {`{"nodes":null}`, nil},
		"an empty text":  {`{"nodes":""}`, nil},
		"an empty node":  {`{"nodes":{"node":{}}}`, nil},
		"a list of null": {`{"nodes":{"node":[null]}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, routes{"GET /ws/v1/cluster/nodes": func(w http.ResponseWriter, r *http.Request) {
				if got := r.URL.Query().Get("states"); got != "RUNNING,LOST" {
					t.Errorf("states = %q", got)
				}
				status(200, test.body)(w, r)
			}})
			got, err := client(t, Options{}, s.URL).Nodes(context.Background(), "RUNNING", "LOST")
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%s %v", diff, err)
			}
		})
	}
}

func TestNodeLabels(t *testing.T) {
	for name, test := range map[string]struct {
		body string
		want []string
	}{
		"labels":    {`{"nodeLabelInfo":[{"name":"fast","exclusivity":true},{"name":"","exclusivity":true},{"name":"slow"}]}`, []string{"fast", "slow"}},
		"one label": {`{"nodeLabelInfo":{"name":"fast"}}`, []string{"fast"}},
		"none":      {`{}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, routes{"GET /ws/v1/cluster/get-node-labels": test.body})
			got, err := client(t, Options{}, s.URL).NodeLabels(context.Background())
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%s %v", diff, err)
			}
		})
	}
}

func TestScheduler(t *testing.T) {
	for name, test := range map[string]struct {
		body string
		want Scheduler
	}{
		"capacity, Hadoop 3.4": {
			body: `{"scheduler":{"schedulerInfo":{"type":"capacityScheduler","capacity":100.0,"usedCapacity":25.0,"maxCapacity":100.0,"queueName":"root","queuePath":"root","queueType":"parent",
				"queues":{"queue":[
				{"type":"capacitySchedulerLeafQueueInfo","queuePath":"root.default","capacity":60.0,"usedCapacity":0.0,"maxCapacity":100.0,"absoluteCapacity":60.0,"queueName":"default","state":"RUNNING","queueType":"leaf",
					"maximumAllocation":{"memory":8192,"vCores":4}},
				{"queuePath":"root.p","capacity":40.0,"maxCapacity":100.0,"absoluteCapacity":40.0,"queueName":"p","state":"STOPPED","queueType":"parent"}]}}}}`,
			want: Scheduler{Type: "capacityScheduler", Queues: []Queue{
				{Name: "root", Path: "root", State: "RUNNING", Capacity: 100, MaxCapacity: 100, UsedCapacity: 25},
				{Name: "default", Path: "root.default", Parent: "root", Leaf: true, State: "RUNNING", Capacity: 60, MaxCapacity: 100, AbsoluteCapacity: 60, MaximumAllocation: Resource{MemoryMB: 8192, VCores: 4}},
				{Name: "p", Path: "root.p", Parent: "root", State: "STOPPED", Capacity: 40, MaxCapacity: 100, AbsoluteCapacity: 40},
			}},
		},
		"capacity without paths, one queue an object": {
			body: `{"scheduler":{"schedulerInfo":{"type":"capacityScheduler","queueName":"root","queues":{"queue":{"queueName":"a","state":"RUNNING","queues":{"queue":{"queueName":"b","state":"RUNNING","capacity":"Infinity"}}}}}}}`,
			want: Scheduler{Type: "capacityScheduler", Queues: []Queue{
				{Name: "root", Path: "root", State: "RUNNING"},
				{Name: "a", Path: "root.a", Parent: "root", State: "RUNNING"},
				{Name: "b", Path: "root.a.b", Parent: "root.a", Leaf: true, State: "RUNNING"},
			}},
		},
		"fair": {
			body: `{"scheduler":{"schedulerInfo":{"type":"fairScheduler","rootQueue":{"queueName":"root","childQueues":{"queue":[
				{"type":"fairSchedulerLeafQueueInfo","queueName":"root.default","maxContainerAllocation":{"memory":4096,"vCores":4}}]}}}}}`,
			want: Scheduler{Type: "fairScheduler", Queues: []Queue{
				{Name: "root", Path: "root", State: "RUNNING"},
				{Name: "default", Path: "root.default", Parent: "root", Leaf: true, State: "RUNNING", MaximumAllocation: Resource{MemoryMB: 4096, VCores: 4}},
			}},
		},
		"fair without queues": {
			body: `{"scheduler":{"schedulerInfo":{"type":"fairScheduler","rootQueue":{"queueName":"root"}}}}`,
			want: Scheduler{Type: "fairScheduler", Queues: []Queue{{Name: "root", Path: "root", State: "RUNNING"}}},
		},
		"fifo": {
			body: `{"scheduler":{"schedulerInfo":{"type":"fifoScheduler","capacity":1.0,"usedCapacity":0.5,"qstate":"RUNNING"}}}`,
			want: Scheduler{Type: "fifoScheduler", Queues: []Queue{{Name: "default", Path: "default", Leaf: true, State: "RUNNING", Capacity: 100, MaxCapacity: 100, AbsoluteCapacity: 100, UsedCapacity: 50}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, routes{"GET /ws/v1/cluster/scheduler": test.body})
			got, err := client(t, Options{}, s.URL).Scheduler(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, *got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFindQueue(t *testing.T) {
	s := Scheduler{Queues: []Queue{{Name: "root", Path: "root"}, {Name: "a", Path: "root.a", Leaf: true}}}
	for queue, want := range map[string]bool{"a": true, "root.a": true, "root": false, "b": false} {
		if _, got := s.Find(queue); got != want {
			t.Errorf("Find(%s) = %v", queue, got)
		}
	}
}
