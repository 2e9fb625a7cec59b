package conf

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResourceManagers(t *testing.T) {
	const (
		web       = "yarn.resourcemanager.webapp.address"
		scheduler = "yarn.resourcemanager.scheduler.address"
	)
	ha := func(more ...string) map[string]string {
		m := map[string]string{"yarn.resourcemanager.ha.enabled": "true", "yarn.resourcemanager.ha.rm-ids": "rm1, rm2"}
		for i := 0; i+1 < len(more); i += 2 {
			m[more[i]] = more[i+1]
		}
		return m
	}
	for name, test := range map[string]struct {
		values map[string]string
		key    string
		want   []string
		fails  string
	}{
		"nothing set":               {key: web, want: []string{"localhost:8088"}},
		"hostname":                  {values: map[string]string{"yarn.resourcemanager.hostname": "rm"}, key: scheduler, want: []string{"rm:8030"}},
		"address":                   {values: map[string]string{scheduler: " rm:1234 "}, key: scheduler, want: []string{"rm:1234"}},
		"address without a port":    {values: map[string]string{web: "rm"}, key: web, want: []string{"rm:8088"}},
		"address as a URL":          {values: map[string]string{web: "http://rm:1/x"}, key: web, want: []string{"rm:1"}},
		"IPv6":                      {values: map[string]string{web: "[::1]:5", "yarn.resourcemanager.hostname": "::1"}, key: web, want: []string{"[::1]:5"}},
		"wildcard":                  {values: map[string]string{web: "0.0.0.0:9"}, key: web, want: []string{"localhost:9"}},
		"IPv6 wildcard":             {values: map[string]string{web: "[::]:9"}, key: web, want: []string{"localhost:9"}},
		"wildcard with a host name": {values: map[string]string{web: "0.0.0.0:9", "yarn.resourcemanager.hostname": "rm"}, key: web, want: []string{"rm:9"}},
		"https":                     {values: map[string]string{"yarn.http.policy": "HTTPS_ONLY", "yarn.resourcemanager.hostname": "rm", web: "rm:1"}, key: web, want: []string{"rm:8090"}},
		"https address": {values: map[string]string{"yarn.http.policy": "HTTPS_ONLY", "yarn.resourcemanager.webapp.https.address": "rm:7"},
			key: web, want: []string{"rm:7"}},
		"HA by host names": {values: ha("yarn.resourcemanager.hostname.rm1", "a", "yarn.resourcemanager.hostname.rm2", "b"), key: scheduler, want: []string{"a:8030", "b:8030"}},
		"HA by addresses":  {values: ha(web+".rm1", "a:1", web+".rm2", "0.0.0.0:2", "yarn.resourcemanager.hostname.rm2", "b"), key: web, want: []string{"a:1", "b:2"}},
		"HA with https": {values: ha("yarn.http.policy", "HTTPS_ONLY", "yarn.resourcemanager.webapp.https.address.rm1", "a:1", "yarn.resourcemanager.hostname.rm2", "b"),
			key: web, want: []string{"a:1", "b:8090"}},
		"HA without an address": {values: ha("yarn.resourcemanager.hostname.rm1", "a"), key: web, fails: "yarn.resourcemanager.hostname.rm2"},
		"HA without ids":        {values: map[string]string{"yarn.resourcemanager.ha.enabled": "true"}, key: web, fails: "yarn.resourcemanager.ha.rm-ids"},
		"HA neither on nor off": {values: map[string]string{"yarn.resourcemanager.ha.enabled": "maybe"}, key: web, fails: "maybe"},
		"a bad port":            {values: map[string]string{web: "rm:http"}, key: web, fails: "rm:http"},
		"a port too large":      {values: map[string]string{web: "rm:65536"}, key: web, fails: "65535"},
		"an unset variable":     {values: map[string]string{web: "${nope}:1"}, key: web, fails: "${nope}"},
		"another key":           {key: "yarn.nodemanager.address", fails: "yarn.nodemanager.address"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := FromMap(test.values).ResourceManagers(test.key)
			checkAddresses(t, got, err, test.want, test.fails)
		})
	}
}

func TestNameNodes(t *testing.T) {
	ha := map[string]string{
		"fs.defaultFS": "hdfs://ns", "dfs.nameservices": "ns,fed", "dfs.ha.namenodes.ns": "nn1,nn2",
		"dfs.namenode.rpc-address.ns.nn1": "a:9000", "dfs.namenode.rpc-address.ns.nn2": "b", "dfs.namenode.rpc-address.fed": "f:1",
	}
	for name, test := range map[string]struct {
		values map[string]string
		uri    string
		want   []string
		fails  string
	}{
		"default":                  {values: map[string]string{"fs.defaultFS": " hdfs://nn:9000/ "}, want: []string{"nn:9000"}},
		"default port":             {values: map[string]string{"fs.defaultFS": "hdfs://nn"}, want: []string{"nn:8020"}},
		"deprecated, no scheme":    {values: map[string]string{"fs.default.name": "nn:9000"}, want: []string{"nn:9000"}},
		"wildcard":                 {values: map[string]string{"fs.defaultFS": "hdfs://0.0.0.0:9000"}, want: []string{"localhost:9000"}},
		"another URI":              {values: ha, uri: "hdfs://other:1/x y", want: []string{"other:1"}},
		"URI without a host":       {values: ha, uri: "hdfs:///x", want: []string{"a:9000", "b:8020"}},
		"HA":                       {values: ha, want: []string{"a:9000", "b:8020"}},
		"HA with a path":           {values: ha, uri: "hdfs://ns/data/in", want: []string{"a:9000", "b:8020"}},
		"federation":               {values: ha, uri: "hdfs://fed/x", want: []string{"f:1"}},
		"a name is no port's host": {values: ha, uri: "hdfs://ns:8020/x", want: []string{"ns:8020"}},
		"HA without an address":    {values: map[string]string{"dfs.ha.namenodes.ns": "x"}, uri: "hdfs://ns", fails: "dfs.namenode.rpc-address.ns.x"},
		"HA with a bad address":    {values: map[string]string{"dfs.ha.namenodes.ns": "x", "dfs.namenode.rpc-address.ns.x": "h:p"}, uri: "hdfs://ns", fails: "h:p"},
		"local":                    {fails: "not in HDFS"},
		"another file system":      {uri: "s3a://bucket/x", fails: "s3a://bucket/x"},
		"not a URI":                {uri: "hdfs://%zz", fails: "%zz"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := FromMap(test.values).NameNodes(test.uri)
			checkAddresses(t, got, err, test.want, test.fails)
		})
	}
}

func checkAddresses(t *testing.T, got []string, err error, want []string, fails string) {
	t.Helper()
	if fails != "" {
		if err == nil || !strings.Contains(err.Error(), fails) {
			t.Errorf("got %v, %v; want an error with %q", got, err, fails)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
}

func TestDefaultFSAndSecurity(t *testing.T) {
	for value, want := range map[string]string{
		"": "file:///", "local": "file:///", "/data": "file:///data", "nn:8020": "hdfs://nn:8020", "hdfs://ns": "hdfs://ns", "file:/x": "file:/x",
	} {
		values := map[string]string{}
		if value != "" {
			values["fs.defaultFS"] = value
		}
		if got := FromMap(values).DefaultFS(); got != want {
			t.Errorf("DefaultFS of %q = %q, want %q", value, got, want)
		}
	}
	if FromMap(nil).SecurityEnabled() || !FromMap(map[string]string{"hadoop.security.authentication": " Kerberos "}).SecurityEnabled() {
		t.Error("SecurityEnabled is wrong")
	}
	if FromMap(nil).HTTPSOnly() || !FromMap(map[string]string{"yarn.http.policy": "HTTPS_ONLY"}).HTTPSOnly() {
		t.Error("HTTPSOnly is wrong")
	}
}
