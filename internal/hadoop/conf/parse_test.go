package conf

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// memory returns a reader of the files in a map, by path.
func memory(files map[string]string) reader {
	return func(path string) ([]byte, error) {
		content, ok := files[path]
		if !ok {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		return []byte(content), nil
	}
}

// parse returns the raw values of /c/core-site.xml in files.
func parse(files map[string]string) (map[string]string, error) {
	r := newRawProperties()
	err := parseFile(r, "/c/core-site.xml", memory(files))
	values := map[string]string{}
	for k, p := range r.values {
		values[k] = p.value
	}
	return values, err
}

const xi = `<configuration xmlns:xi="http://www.w3.org/2001/XInclude">`

// The expected values are those of Hadoop 3.4's Configuration for the same files.
func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		xml   string
		files map[string]string
		want  map[string]string
	}{
		"elements": {
			xml:  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<?xml-stylesheet href=\"x\"?>\n<!-- c -->" + site("a", "1", " b ", " x y "),
			want: map[string]string{"a": "1", "b": " x y "},
		},
		"attributes": {
			xml:  `<configuration><property name="a" value="1"/><property name="f" value="1" final="true"/><property name="f" value="2"/></configuration>`,
			want: map[string]string{"a": "1", "f": "1"},
		},
		"comments, CDATA and other elements": {
			xml: `<configuration><property><!-- c --><name>a</name><description>d <b>x</b></description><value>a<!-- x -->b<![CDATA[<&>]]>&lt;</value><source>s</source></property>
				<property><name>sub</name><value>a<b>q</b>c</value></property></configuration>`,
			want: map[string]string{"a": "ab<&><", "sub": "aqc"},
		},
		"empty values set nothing": {
			xml:  site("a", "1", "a", "", "b", "", "c", " "),
			want: map[string]string{"a": "1", "c": " "},
		},
		"the last one wins": {
			xml:  site("a", "1", "a", "2"),
			want: map[string]string{"a": "2"},
		},
		"final": {
			xml: `<configuration><property><name>a</name><value>1</value><final>true</final></property><property><name>a</name><value>2</value></property>
				<property><name>b</name><value>1</value><final> true </final></property><property><name>b</name><value>2</value></property>
				<property><name>c</name><final>true</final></property><property><name>c</name><value>2</value></property></configuration>`,
			want: map[string]string{"a": "1", "b": "2"},
		},
		"deprecated names": {
			xml:  site("fs.default.name", "hdfs://old", "dfs.block.size", "1", "dfs.blocksize", "2"),
			want: map[string]string{"fs.defaultFS": "hdfs://old", "dfs.blocksize": "2"},
		},
		"latin-1": {
			xml:  "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><configuration><property><name>a</name><value>\xe9</value></property></configuration>",
			want: map[string]string{"a": "é"},
		},
		"include": {
			xml:   xi + `<xi:include href="b.xml"/><include href="/abs/c.xml"/><xi:include href="file:///abs/d.xml"/></configuration>`,
			files: map[string]string{"/c/b.xml": site("b", "1"), "/abs/c.xml": `<configuration><include href="sub/e.xml"/></configuration>`, "/abs/sub/e.xml": site("e", "1"), "/abs/d.xml": site("d", "1")},
			want:  map[string]string{"b": "1", "d": "1", "e": "1"},
		},
		"what comes after an include overrides it": {
			xml:   xi + `<property name="a" value="0"/><xi:include href="b.xml"/><property name="b" value="2"/></configuration>`,
			files: map[string]string{"/c/b.xml": site("a", "1", "b", "1")},
			want:  map[string]string{"a": "1", "b": "2"},
		},
		"fallback of a missing file": {
			xml:  xi + `<xi:include href="no.xml"><xi:fallback><property name="fb" value="1"/></xi:fallback></xi:include></configuration>`,
			want: map[string]string{"fb": "1"},
		},
		"an empty fallback": {
			xml:  xi + `<xi:include href="no.xml"><xi:fallback/></xi:include><property name="a" value="1"/></configuration>`,
			want: map[string]string{"a": "1"},
		},
		"fallback of a file that is there": {
			xml:   xi + `<xi:include href="b.xml"><xi:fallback><property name="fb" value="1"/><property/><xi:include href="no.xml"/></xi:fallback></xi:include><property name="a" value="1"/></configuration>`,
			files: map[string]string{"/c/b.xml": site("b", "1")},
			want:  map[string]string{"a": "1", "b": "1"},
		},
		"fallback to another file": {
			xml:   xi + `<xi:include href="no.xml"><xi:fallback><xi:include href="b.xml"/><property name="fb" value="1"/></xi:fallback></xi:include></configuration>`,
			files: map[string]string{"/c/b.xml": site("b", "1")},
			want:  map[string]string{"b": "1", "fb": "1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"/c/core-site.xml": test.xml}
			for k, v := range test.files {
				files[k] = v
			}
			got, err := parse(files)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFinalParametersHoldAgainstLaterFiles(t *testing.T) {
	c := load(t, map[string]string{
		"core-site.xml": `<configuration><property><name>a</name><value>core</value><final>true</final></property></configuration>`,
		"yarn-site.xml": site("a", "yarn"),
	})
	if got, _ := c.Get("a"); got != "core" {
		t.Errorf("a = %q", got)
	}
}

func TestParseErrorsNameFileAndLine(t *testing.T) {
	for name, test := range map[string]struct {
		xml   string
		files map[string]string
		want  []string
	}{
		"empty":                {xml: "", want: []string{"/c/core-site.xml:1", "no <configuration>"}},
		"another root":         {xml: "<?xml version=\"1.0\"?>\n<foo/>", want: []string{"/c/core-site.xml:2", "<foo>"}},
		"two roots":            {xml: "<configuration/>\n<configuration/>", want: []string{"/c/core-site.xml:2", "second root"}},
		"not closed":           {xml: "<configuration>\n<property>\n", want: []string{"/c/core-site.xml:3", "malformed XML", "unexpected EOF"}},
		"wrong end":            {xml: "<configuration>\n<property>\n<name>a</nam>", want: []string{"/c/core-site.xml:3", "malformed XML"}},
		"a bare ampersand":     {xml: "<configuration>\n<property name='a' value='a&b'/></configuration>", want: []string{"/c/core-site.xml:2", "malformed XML"}},
		"no name":              {xml: "<configuration>\n<property>\n<value>1</value></property></configuration>", want: []string{"/c/core-site.xml:2", "without a <name>"}},
		"an encoding":          {xml: "<?xml version=\"1.0\" encoding=\"EBCDIC\"?>\n<configuration/>", want: []string{"/c/core-site.xml:1", "EBCDIC", "UTF-8"}},
		"no UTF-8":             {xml: "<configuration>\n\xff</configuration>", want: []string{"/c/core-site.xml:2", "malformed XML"}},
		"a missing include":    {xml: xi + "\n<xi:include href='no.xml'/></configuration>", want: []string{"/c/core-site.xml:2", "no.xml", "fallback"}},
		"a remote include":     {xml: xi + "\n<xi:include href='http://h/x.xml'/></configuration>", want: []string{"/c/core-site.xml:2", "http://h/x.xml", "only files"}},
		"an include of itself": {xml: xi + "\n<xi:include href='core-site.xml'/></configuration>", want: []string{"/c/core-site.xml:2", "nested deeper"}},
		"an included error": {xml: xi + "\n<xi:include href='b.xml'/></configuration>", files: map[string]string{"/c/b.xml": "<configuration>\n\n<property/></configuration>"},
			want: []string{"/c/b.xml:3", "without a <name>"}},
		"deep": {xml: strings.Repeat("<configuration>", 100), want: []string{"/c/core-site.xml:1", "deeper than 64"}},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"/c/core-site.xml": test.xml}
			for k, v := range test.files {
				files[k] = v
			}
			_, err := parse(files)
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

// Entities that would expand to gigabytes, nested double includes and a huge file fail
// early.
func TestXMLBombsFailEarly(t *testing.T) {
	var entities strings.Builder
	entities.WriteString("<!DOCTYPE c [<!ENTITY e0 \"lol\">")
	for i := 1; i < 20; i++ {
		fmt.Fprintf(&entities, "<!ENTITY e%d \"%s\">", i, strings.Repeat(fmt.Sprintf("&e%d;", i-1), 10))
	}
	entities.WriteString("]>\n<configuration><property><name>a</name><value>&e19;</value></property></configuration>")
	double := xi + strings.Repeat("<xi:include href='core-site.xml'/>", 2) + strings.Repeat(" ", 1<<20) + "</configuration>"
	many := xi + strings.Repeat("<include href='core-site.xml'/>", 3) + "</configuration>"
	for name, xml := range map[string]string{"entities": entities.String(), "large includes": double, "many includes": many} {
		start := time.Now()
		if _, err := parse(map[string]string{"/c/core-site.xml": xml}); err == nil {
			t.Errorf("%s: no error", name)
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%s: took %s", name, d)
		}
	}
	dir := writeFiles(t, map[string]string{"core-site.xml": "<configuration>" + strings.Repeat(" ", maxFileBytes) + "</configuration>"})
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "core-site.xml")) {
		t.Errorf("a huge file: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		site("a", "${b}", "b", "${a}"),
		xi + `<xi:include href="core-site.xml"><xi:fallback><property name="a" value="${env.X:-y}" final="true"/></xi:fallback></xi:include></configuration>`,
		xi + `<xi:include href="other.xml"/><xi:include href="none.xml"><xi:fallback/></xi:include></configuration>`,
		`<!DOCTYPE c [<!ENTITY a "b">]><configuration>&a;</configuration>`,
		"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><configuration>\xe9</configuration>",
		`<property><fallback></fallback></property>`,
		site("yarn.resourcemanager.ha.enabled", "true", "yarn.resourcemanager.ha.rm-ids", "a,b", "yarn.resourcemanager.hostname.a", "[::]:1", "yarn.resourcemanager.hostname.b", "x"),
		site("fs.defaultFS", "hdfs://ns", "dfs.nameservices", "ns", "dfs.ha.namenodes.ns", "a", "dfs.namenode.rpc-address.ns.a", "h:1"),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, xml string) {
		r := newRawProperties()
		err := parseFile(r, "/c/core-site.xml", memory(map[string]string{"/c/core-site.xml": xml, "/c/other.xml": site("o", "1")}))
		if err != nil {
			if !strings.Contains(err.Error(), "/c/") {
				t.Errorf("the error does not name the file: %v", err)
			}
			return
		}
		c := r.resolve(func(string) (string, bool) { return "", false }, nil)
		for key := range c.Map() {
			if c.Source(key) == "" {
				t.Errorf("%q has no source", key)
			}
			_, _ = c.Bool(key, false)
			_, _ = c.Int(key, 0)
			_, _ = c.Duration(key, 0, time.Millisecond)
			_, _ = c.Strings(key, nil)
		}
		_, _ = c.ResourceManagers("yarn.resourcemanager.webapp.address")
		_, _ = c.NameNodes("")
		if diff := cmp.Diff(c.Map(), FromMap(c.Map()).Map()); diff != "" {
			t.Errorf("shipping changes it: %s", diff)
		}
	})
}
