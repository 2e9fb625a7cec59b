package yarnrest

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNewApplication(t *testing.T) {
	s := serve(t, routes{"POST /ws/v1/cluster/apps/new-application": `{"application-id":"` + appID + `","maximum-resource-capability":{"memory":8192,"vCores":4,
		"resourceInformations":{"resourceInformation":[{"attributes":{},"maximumAllocation":9223372036854775807,"minimumAllocation":0,"name":"memory-mb","resourceType":"COUNTABLE","units":"Mi","value":8192}]}}}`})
	got, err := client(t, Options{}, s.URL).NewApplication(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := &NewApplication{ID: appID, MaximumAllocation: Resource{MemoryMB: 8192, VCores: 4, Types: []ResourceType{{Name: "memory-mb", Units: "Mi", Value: 8192, Maximum: 1<<63 - 1}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	empty := serve(t, routes{"POST /ws/v1/cluster/apps/new-application": `{}`})
	if _, err := client(t, Options{}, empty.URL).NewApplication(context.Background()); err == nil || !strings.Contains(err.Error(), "application-id") {
		t.Errorf("got %v", err)
	}
}

func TestSubmissionJSON(t *testing.T) {
	zero := 0
	for name, test := range map[string]struct {
		context SubmissionContext
		want    string
	}{
		"the least": {
			context: SubmissionContext{ID: appID, Name: "n", Resource: Resource{MemoryMB: 128, VCores: 1}, AM: ContainerSpec{Commands: []string{"true"}}},
			want: `{"application-id":"` + appID + `","application-name":"n","resource":{"memory":128,"vCores":1},
				"am-container-spec":{"commands":{"command":["true"]}}}`,
		},
		"everything": {
			context: SubmissionContext{
				ID: appID, Name: "n", Queue: "q", Type: "BOBBIN", Tags: []string{"a", "b"}, Priority: &zero, MaxAttempts: 2, AttemptFailuresValidityInterval: time.Minute,
				UnmanagedAM: true, AMNodeLabelExpression: "y",
				LogAggregation: &LogAggregation{Include: "i", Exclude: "e", RolledInclude: "ri", RolledExclude: "re"},
				Resource:       Resource{MemoryMB: 128, VCores: 1, Types: []ResourceType{{Name: "yarn.io/gpu", Value: 2}}},
				AM: ContainerSpec{
					LocalResources: map[string]LocalResource{
						"b": {URL: "hdfs://h/b.zip", Type: ResourceArchive, Visibility: VisibilityApplication, Size: 2, Timestamp: 20},
						"a": {URL: "hdfs://h/a", Type: ResourceFile, Visibility: VisibilityPrivate, Size: 1, Timestamp: 10}},
					Environment: map[string]string{"K": "v \"q\" <&>", "A": ""},
					Commands:    []string{"./app", "am"},
					Secrets:     map[string][]byte{"s": {0xff, 0xfe, 0xfb}},
					Tokens:      map[string]string{"t": "encoded"},
					ACLs:        map[string]string{"VIEW_APP": "*"},
				},
			},
			want: `{"application-id":"` + appID + `","application-name":"n","queue":"q","application-type":"BOBBIN","application-tags":{"tag":["a","b"]},"priority":0,"max-app-attempts":2,
				"attempt-failures-validity-interval":60000,"unmanaged-AM":true,"am-container-node-label-expression":"y",
				"log-aggregation-context":{"log-include-pattern":"i","log-exclude-pattern":"e","rolled-log-include-pattern":"ri","rolled-log-exclude-pattern":"re"},
				"resource":{"memory":128,"vCores":1,"resourceInformations":{"resourceInformation":[{"name":"yarn.io/gpu","units":"","value":2,"resourceType":"COUNTABLE"}]}},
				"am-container-spec":{
					"local-resources":{"entry":[
						{"key":"a","value":{"resource":"hdfs://h/a","type":"FILE","visibility":"PRIVATE","size":1,"timestamp":10}},
						{"key":"b","value":{"resource":"hdfs://h/b.zip","type":"ARCHIVE","visibility":"APPLICATION","size":2,"timestamp":20}}]},
					"environment":{"entry":[{"key":"A","value":""},{"key":"K","value":"v \"q\" <&>"}]},
					"commands":{"command":["./app","am"]},
					"credentials":{"secrets":{"entry":[{"key":"s","value":"__77"}]},"tokens":{"entry":[{"key":"t","value":"encoded"}]}},
					"application-acls":{"entry":[{"key":"VIEW_APP","value":"*"}]}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got, want any
			s := serve(t, routes{"POST /ws/v1/cluster/apps": func(w http.ResponseWriter, r *http.Request) {
				if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
					t.Error(err)
				}
				w.WriteHeader(http.StatusAccepted)
			}})
			if err := client(t, Options{}, s.URL).SubmitApplication(context.Background(), &test.context); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestARefusedSubmissionKeepsTheMessage(t *testing.T) {
	const message = "java.lang.Exception: Requested more memory than configured max"
	s := serve(t, routes{"POST /ws/v1/cluster/apps": remote(400, "BadRequestException", message)})
	c := client(t, Options{}, s.URL)
	if err := c.SubmitApplication(context.Background(), &SubmissionContext{ID: appID}); err == nil || !strings.Contains(err.Error(), message) {
		t.Errorf("got %v", err)
	}
	if err := c.SubmitApplication(context.Background(), &SubmissionContext{}); err == nil || !strings.Contains(err.Error(), "no id") {
		t.Errorf("got %v", err)
	}
}

func TestCheck(t *testing.T) {
	maximum := Resource{MemoryMB: 4096, VCores: 4, Types: []ResourceType{{Name: "memory-mb", Value: 4096}, {Name: "yarn.io/gpu", Value: 2}, {Name: "disk", Value: 9, Units: "G"}}}
	of := func(name string, amount int64) Resource {
		return Resource{Types: []ResourceType{{Name: name, Value: amount}}}
	}
	for _, test := range []struct {
		request Resource
		want    []string
	}{
		{Resource{MemoryMB: 4096, VCores: 4}, nil},
		{Resource{MemoryMB: 4097, VCores: 1}, []string{"4097", "4096"}},
		{Resource{MemoryMB: 1, VCores: 5}, []string{"5 virtual cores", "4"}},
		{of("yarn.io/gpu", 2), nil},
		{of("yarn.io/gpu", 3), []string{"3 yarn.io/gpu", ", 2 (yarn.resource-types.yarn.io/gpu.maximum-allocation"}},
		{of("disk", 10), []string{"10G disk", ", 9G ("}},
		{of("tpu", 1), []string{"tpu is no resource type", "memory-mb, yarn.io/gpu, disk"}},
	} {
		err := test.request.Check(maximum)
		if (err != nil) != (test.want != nil) {
			t.Errorf("%+v: %v", test.request, err)
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q does not contain %q", err, want)
			}
		}
	}
	if err := (Resource{MemoryMB: 1 << 40, Types: []ResourceType{{Name: "x", Value: 1}}}).Check(Resource{}); err != nil {
		t.Errorf("with no maximum known: %v", err)
	}
}
