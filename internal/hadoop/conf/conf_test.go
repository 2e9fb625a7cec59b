package conf

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// writeFiles creates a configuration directory with files, whose names are relative to the
// directory.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func load(t *testing.T, files map[string]string) *Config {
	t.Helper()
	c, err := Load(writeFiles(t, files))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func site(properties ...string) string {
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\"?>\n<configuration xmlns:xi=\"http://www.w3.org/2001/XInclude\">\n")
	for i := 0; i+1 < len(properties); i += 2 {
		b.WriteString("<property><name>" + properties[i] + "</name><value>" + properties[i+1] + "</value></property>\n")
	}
	b.WriteString("</configuration>\n")
	return b.String()
}

func TestLoadReadsTheSiteFilesInOrder(t *testing.T) {
	c := load(t, map[string]string{
		"core-site.xml": site("a", "core", "b", "core", "fs.defaultFS", " hdfs://one:9000\n"),
		"hdfs-site.xml": site("b", "hdfs", "c", "hdfs"),
		"yarn-site.xml": site("c", "yarn"),
	})
	want := map[string]string{"a": "core", "b": "hdfs", "c": "yarn", "fs.defaultFS": "hdfs://one:9000\n"}
	want["fs.defaultFS"] = " hdfs://one:9000\n"
	if diff := cmp.Diff(want, c.Map()); diff != "" {
		t.Error(diff)
	}
	if got, _ := c.Get("fs.defaultFS"); got != "hdfs://one:9000" {
		t.Errorf("Get does not trim: %q", got)
	}
	if got := c.Source("b"); !strings.HasSuffix(got, "hdfs-site.xml:3") {
		t.Errorf("source of b: %q", got)
	}
	if got := c.Source("yarn.http.policy"); got != "yarn-default.xml (built in)" {
		t.Errorf("source of a default: %q", got)
	}
	if got := c.Source("nothing"); got != "" {
		t.Errorf("source of nothing: %q", got)
	}
	if got := c.GetDefault("nothing", "d"); got != "d" {
		t.Errorf("GetDefault of nothing: %q", got)
	}
}

func TestLoadErrorsSayWhatToDo(t *testing.T) {
	empty := t.TempDir()
	file := filepath.Join(empty, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	dangling := t.TempDir()
	if err := os.Symlink("nowhere", filepath.Join(dangling, "core-site.xml")); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		dir  string
		want []string
	}{
		"no directory":     {filepath.Join(empty, "absent"), []string{"absent", "HADOOP_CONF_DIR"}},
		"not a directory":  {file, []string{file, "not a directory", "HADOOP_CONF_DIR"}},
		"no files":         {t.TempDir(), []string{"neither core-site.xml nor yarn-site.xml", "HADOOP_CONF_DIR"}},
		"a dangling link":  {dangling, []string{"core-site.xml", "no such file"}},
		"a directory file": {writeFiles(t, map[string]string{"core-site.xml/x": ""}), []string{"core-site.xml"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(test.dir)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not contain %q", err, want)
				}
			}
		})
	}
}

func TestFromEnvironment(t *testing.T) {
	hadoop := writeFiles(t, map[string]string{"core-site.xml": site("which", "hadoop")})
	yarn := writeFiles(t, map[string]string{"yarn-site.xml": site("which", "yarn")})
	home := writeFiles(t, map[string]string{"etc/hadoop/core-site.xml": site("which", "home")})
	for name, test := range map[string]struct {
		hadoop, yarn, home, want string
	}{
		"HADOOP_CONF_DIR first": {hadoop, yarn, home, "hadoop"},
		"then YARN_CONF_DIR":    {"", yarn, home, "yarn"},
		"then HADOOP_HOME":      {"", "", home, "home"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HADOOP_CONF_DIR", test.hadoop)
			t.Setenv("YARN_CONF_DIR", test.yarn)
			t.Setenv("HADOOP_HOME", test.home)
			c, err := FromEnvironment(nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := c.Get("which"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	t.Run("nothing set", func(t *testing.T) {
		for _, name := range []string{"HADOOP_CONF_DIR", "YARN_CONF_DIR", "HADOOP_HOME"} {
			t.Setenv(name, "")
		}
		if _, err := FromEnvironment(nil); !errors.Is(err, ErrNotConfigured) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("overrides go over what is there", func(t *testing.T) {
		t.Setenv("HADOOP_CONF_DIR", writeFiles(t, map[string]string{"core-site.xml": site("which", "hadoop") + "\n"}))
		c, err := FromEnvironment(map[string]string{"which": "mine", "fs.default.name": "hdfs://other"})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := c.Get("which"); got != "mine" || c.DefaultFS() != "hdfs://other" {
			t.Errorf("got %q and %q", got, c.DefaultFS())
		}
	})
	t.Run("the error names the variable", func(t *testing.T) {
		t.Setenv("HADOOP_CONF_DIR", "/does/not/exist")
		if _, err := FromEnvironment(nil); err == nil || !strings.Contains(err.Error(), "HADOOP_CONF_DIR=/does/not/exist") {
			t.Errorf("got %v", err)
		}
	})
}

func TestFromMapCarriesAConfigurationToAnotherProcess(t *testing.T) {
	t.Setenv("WHERE", "submit")
	c := load(t, map[string]string{
		"yarn-site.xml": site("yarn.resourcemanager.hostname", "rm.example", "env", "${env.WHERE}", "fs.default.name", "hdfs://old"),
	})
	t.Setenv("WHERE", "container")
	shipped := FromMap(c.Map())
	if diff := cmp.Diff(c.Map(), shipped.Map()); diff != "" {
		t.Error(diff)
	}
	for key, want := range map[string]string{
		"env": "submit", "fs.defaultFS": "hdfs://old",
		"yarn.resourcemanager.scheduler.address": "rm.example:8030",
	} {
		if got, _ := shipped.Get(key); got != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
	literal := FromMap(map[string]string{"k": "${env.WHERE}", "fs.default.name": "hdfs://old", "fs.defaultFS": "hdfs://new"})
	if got, _ := literal.Get("k"); got != "${env.WHERE}" {
		t.Errorf("a shipped value was expanded again: %q", got)
	}
	if got := literal.DefaultFS(); got != "hdfs://new" {
		t.Errorf("the deprecated name won: %q", got)
	}
}

func TestSSLClientIsReadAndNotShipped(t *testing.T) {
	const location, password = "ssl.client.truststore.location", "ssl.client.truststore.password"
	dir := writeFiles(t, map[string]string{
		"core-site.xml": site("which", "core"),
		"ssl-client.xml": "<configuration>\n<property><name>" + location + "</name><value>/etc/ssl/hadoop.jks</value></property>\n" +
			"<property><name>" + password + "</name><value>changeit</value></property>\n<property><name>which</name><value>ssl</value></property></configuration>",
	})
	c, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := c.Get(location); got != "/etc/ssl/hadoop.jks" || c.Source(location) != filepath.Join(dir, "ssl-client.xml")+":2" {
		t.Errorf("got %q from %s", got, c.Source(location))
	}
	if got, _ := c.Get("which"); got != "core" {
		t.Errorf("ssl-client.xml changed a key of core-site.xml to %q", got)
	}
	for key := range c.Map() {
		if strings.HasPrefix(key, "ssl.client.") {
			t.Errorf("%s would be shipped", key)
		}
	}
}
