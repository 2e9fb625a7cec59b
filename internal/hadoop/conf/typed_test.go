package conf

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBool(t *testing.T) {
	c := FromMap(map[string]string{"t": " TRUE ", "f": "false", "bad": "yes", "blank": " "})
	for _, test := range []struct {
		key       string
		def, want bool
	}{{"t", false, true}, {"f", true, false}, {"none", true, true}, {"blank", true, true}} {
		if got, err := c.Bool(test.key, test.def); got != test.want || err != nil {
			t.Errorf("Bool(%s) = %v, %v", test.key, got, err)
		}
	}
	if _, err := c.Bool("bad", false); err == nil || !strings.Contains(err.Error(), `bad = "yes"`) {
		t.Errorf("got %v", err)
	}
}

func TestInt(t *testing.T) {
	c := FromMap(map[string]string{"d": " 12 ", "n": "-3", "x": "0x10", "X": "-0XfF", "bad": "1k", "big": "99999999999999999999", "blank": ""})
	for key, want := range map[string]int{"d": 12, "n": -3, "x": 16, "X": -255, "none": 7, "blank": 7} {
		if got, err := c.Int(key, 7); got != want || err != nil {
			t.Errorf("Int(%s) = %d, %v; want %d", key, got, err, want)
		}
	}
	for _, key := range []string{"bad", "big"} {
		if _, err := c.Int(key, 7); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("Int(%s): %v", key, err)
		}
	}
}

func TestDuration(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"1000": time.Second, "30s": 30 * time.Second, " 5M ": 5 * time.Minute, "2h": 2 * time.Hour, "1d": 24 * time.Hour,
		"7ms": 7 * time.Millisecond, "7us": 7 * time.Microsecond, "7ns": 7, "-1": -time.Millisecond, "5 s": 5 * time.Second, "": time.Hour,
	} {
		c := FromMap(map[string]string{"k": value})
		if got, err := c.Duration("k", time.Hour, time.Millisecond); got != want || err != nil {
			t.Errorf("Duration(%q) = %v, %v; want %v", value, got, err, want)
		}
	}
	for _, value := range []string{"s", "1.5s", "10 parsecs", "999999999999d", "-999999999999d"} {
		c := FromMap(map[string]string{"k": value})
		if _, err := c.Duration("k", 0, time.Millisecond); err == nil || !strings.Contains(err.Error(), value) {
			t.Errorf("Duration(%q): %v", value, err)
		}
	}
}

func TestStrings(t *testing.T) {
	c := FromMap(map[string]string{"l": " a, b ,,c\n d", "one": "x", "blank": " "})
	for key, want := range map[string][]string{"l": {"a", "b", "c", "d"}, "one": {"x"}, "none": {"def"}, "blank": {"def"}} {
		got, err := c.Strings(key, []string{"def"})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("Strings(%s): %s %v", key, diff, err)
		}
	}
}

func TestErrorsNameWhereTheValueWasSet(t *testing.T) {
	c := load(t, map[string]string{"yarn-site.xml": site("a", "1", "n", "many")})
	_, err := c.Int("n", 0)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"n = \"many\"", "yarn-site.xml:4", "whole number"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not contain %q", err, want)
		}
	}
}
