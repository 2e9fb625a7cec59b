package yarnrest

import (
	"context"
	"net/http"
	"strings"
	"testing"
)

func TestPlatform(t *testing.T) {
	for name, test := range map[string]struct {
		answer any
		want   string
		fails  string
	}{
		"amd64":   {`{"beans":[{"name":"java.lang:type=OperatingSystem","Name":"Linux","Arch":"amd64","Version":"6.1"}]}`, "linux/amd64", ""},
		"arm64":   {`{"beans":[{"Name":"Linux","Arch":"aarch64"}]}`, "linux/arm64", ""},
		"a Mac":   {`{"beans":[{"Name":"Mac OS X","Arch":"x86_64"}]}`, "mac os x/amd64", ""},
		"no bean": {`{"beans":[]}`, "", "no operating system's bean"},
		"refused": {status(http.StatusForbidden, "User ann is unauthorized"), "", "403"},
		"text":    {`<html>`, "", "not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, routes{"GET /jmx": test.answer})
			c := client(t, Options{}, s.URL)
			check := func(got string, err error) {
				t.Helper()
				if got != test.want || (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
					t.Errorf("got %q, %v", got, err)
				}
			}
			check(c.Platform(context.Background()))
			node, err := c.NodeManager(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			check(node.Platform(context.Background()))
		})
	}
}
