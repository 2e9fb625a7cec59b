package conf

import (
	"strings"
	"testing"
)

// The expected values are those of Hadoop 3.4's Configuration for the same properties.
func TestExpand(t *testing.T) {
	env := map[string]string{"SET": "value", "EMPTY": ""}
	x := &expander{
		env:    func(k string) (string, bool) { v, ok := env[k]; return v, ok },
		system: map[string]string{"user.name": "ann"},
		raw: func(k string) (string, bool) {
			v, ok := map[string]string{
				"attr": "v", "r": "tr", "self": "x${self}", "l1": "${l2}", "l2": "${l1}", "space": "  x y  ",
				"user.name": "ignored", "host": "${sub}.example", "sub": "rm",
			}[k]
			return v, ok
		},
	}
	for _, test := range []struct{ in, want string }{
		{"", ""},
		{"plain", "plain"},
		{"${attr} ${attr}", "v v"},
		{"${host}:8032", "rm.example:8032"},
		{"${at${r}}", "v"},
		{"x${self}", "x${self}"},
		{"${user.name}", "ann"},
		{"[${space}]", "[  x y  ]"},
		{"${attr} ${nope} ${attr}", "v ${nope} ${attr}"},
		{"${a b}${attr}", "${a b}v"},
		{"${}${attr}", "${}v"},
		{"${attr", "${attr"},
		{"$${attr}", "$v"},
		{"{${attr}}", "{v}"},
		{"${attr}}", "v}"},
		{"${env.SET}", "value"},
		{"${env.NOPE}", "${env.NOPE}"},
		{"${env.NOPE-def}", "def"},
		{"${env.NOPE:-def}", "def"},
		{"${env.SET-def}", "value"},
		{"${env.SET:-def}", "value"},
		{"${env.EMPTY-def}|", "|"},
		{"${env.EMPTY:-def}", "def"},
		{"${env.}", "${env.}"},
		{"${env.NOPE:-a-b}", "a-b"},
		{strings.Repeat("${attr}", 19), strings.Repeat("v", 19)},
	} {
		got, err := x.expand(test.in)
		if err != nil || got != test.want {
			t.Errorf("expand(%q) = %q, %v; want %q", test.in, got, err, test.want)
		}
	}
	for _, in := range []string{"${l1}", strings.Repeat("${attr}", 20)} {
		if got, err := x.expand(in); err == nil || got != in {
			t.Errorf("expand(%q) = %q, %v; want it unchanged and an error", in, got, err)
		}
	}
}

func TestExpansionAppliesToDefaultsAndLaterFiles(t *testing.T) {
	c := load(t, map[string]string{
		"core-site.xml": site("fs.defaultFS", "hdfs://${nn}:9000", "hadoop.tmp.dir", "/data/${user.name}"),
		"yarn-site.xml": site("nn", "nn.example", "yarn.resourcemanager.hostname", "rm.${domain}", "domain", "example"),
	})
	for key, want := range map[string]string{
		"fs.defaultFS":                        "hdfs://nn.example:9000",
		"yarn.resourcemanager.webapp.address": "rm.example:8088",
		"yarn.resourcemanager.address":        "rm.example:8032",
		"hadoop.security.authentication":      "simple",
		"yarn.resourcemanager.ha.enabled":     "false",
		"yarn.nodemanager.remote-app-log-dir": "/tmp/logs",
	} {
		if got, _ := c.Get(key); got != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
	if got, _ := c.Get("hadoop.tmp.dir"); strings.Contains(got, "$") {
		t.Errorf("hadoop.tmp.dir = %q", got)
	}
}

func TestAnEndlessExpansionIsAnErrorOnlyWhereItIsUsed(t *testing.T) {
	c := load(t, map[string]string{"core-site.xml": site("l1", "${l2}", "l2", "${l1}", "ok", "1")})
	if got, _ := c.Get("l1"); got != "${l2}" {
		t.Errorf("Get gives %q", got)
	}
	if n, err := c.Int("ok", 0); n != 1 || err != nil {
		t.Errorf("another key: %d, %v", n, err)
	}
	_, err := c.Int("l1", 0)
	if err == nil || !strings.Contains(err.Error(), "core-site.xml:3") || !strings.Contains(err.Error(), "l1") {
		t.Errorf("got %v", err)
	}
}
