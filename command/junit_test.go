package command

import (
	"bytes"
	"encoding/xml"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// junitRules are the rules that the schemas of Ant's JUnitReport and of Jenkins' xUnit plug-in have
// in common. For each element, they list the attributes with the patterns of their values, and the
// children in order. A ! marks required attributes and children.
var junitRules = map[string]struct {
	attributes map[string]string
	children   []string
}{
	"testsuites": {nil, []string{"testsuite"}},
	"testsuite": {map[string]string{
		"!name": `\S.*`, "!package": `.*`, "!id": `\d+`, "!timestamp": `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d`, "!hostname": `\S.*`,
		"!tests": `\d+`, "!failures": `\d+`, "!errors": `\d+`, "skipped": `\d+`, "!time": `\d+\.\d{3}`,
	}, []string{"properties", "testcase", "system-out", "system-err"}},
	"properties": {nil, []string{"property"}},
	"property":   {map[string]string{"!name": `\S.*`, "!value": `(?s).*`}, nil},
	"testcase":   {map[string]string{"!name": `(?s).+`, "!classname": `.+`, "!time": `\d+\.\d{3}`}, []string{"skipped", "failure"}},
	"skipped":    {map[string]string{"message": `(?s).*`}, nil},
	"failure":    {map[string]string{"message": `(?s).*`, "!type": `.+`}, nil},
	"system-out": {}, "system-err": {},
}

// requireJUnit checks that a file follows junitRules, and that the counts in it agree with its test
// cases.
func requireJUnit(t *testing.T, content []byte) {
	t.Helper()
	type open struct {
		name string
		last int // index of the last child in the list of allowed children
		seen map[string]int
	}
	decoder := xml.NewDecoder(bytes.NewReader(content))
	stack := []open{{name: "", seen: map[string]int{}}}
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			name := token.Name.Local
			rule, known := junitRules[name]
			require.True(t, known, "element %s", name)
			parent := &stack[len(stack)-1]
			if parent.name != "" {
				place := slices.Index(junitRules[parent.name].children, name)
				require.GreaterOrEqual(t, place, parent.last, "%s in %s", name, parent.name)
				parent.last = place
			}
			parent.seen[name]++
			got := map[string]string{}
			for _, attribute := range token.Attr {
				got[attribute.Name.Local] = attribute.Value
			}
			for attribute, looks := range rule.attributes {
				attribute, required := strings.CutPrefix(attribute, "!")
				value, there := got[attribute]
				require.True(t, there || !required, "%s has no %s", name, attribute)
				if there {
					require.Regexp(t, regexp.MustCompile("^(?:"+looks+")$"), value, "%s of %s", attribute, name)
				}
				delete(got, attribute)
			}
			require.Empty(t, got, "attributes of %s", name)
			stack = append(stack, open{name: name, seen: map[string]int{}})
		case xml.EndElement:
			ended := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if ended.name == "testsuite" {
				for _, name := range []string{"properties", "system-out", "system-err"} {
					require.Equal(t, 1, ended.seen[name], name)
				}
			}
			if ended.name == "testcase" {
				require.LessOrEqual(t, ended.seen["skipped"]+ended.seen["failure"], 1)
			}
		}
	}
	var all junitSuites
	require.NoError(t, xml.Unmarshal(content, &all))
	for _, suite := range all.Suites {
		failures, skipped := 0, 0
		for _, one := range suite.Cases {
			if one.Failure != nil {
				failures++
			}
			if one.Skipped != nil {
				skipped++
			}
		}
		require.Equal(t, []int{len(suite.Cases), failures, skipped}, []int{suite.Tests, suite.Failures, suite.Skipped})
	}
}

// checkedJUnit returns the parsed output of WriteJUnit after requireJUnit has checked it.
func checkedJUnit(t *testing.T, results *Results, about JUnitSummary) junitSuites {
	t.Helper()
	var content bytes.Buffer
	require.NoError(t, results.WriteJUnit(&content, about))
	requireJUnit(t, content.Bytes())
	var all junitSuites
	require.NoError(t, xml.Unmarshal(content.Bytes(), &all))
	return all
}

func summaryPlan() *Plan {
	labelled := []Task{{Values: []Value{{"os", "<debian>"}, {"v", "3.10"}}}, {Values: []Value{{"os", "alpine"}, {"v", "\x1b"}}}, {}}
	return &Plan{Name: "nightly", Steps: []Step{
		{Name: "build", Command: []string{"x"}, Tasks: labelled},
		{Name: "test", Command: []string{"x"}, Tasks: make([]Task, 1)},
	}}
}

func TestJUnit(t *testing.T) {
	results := UnfinishedResults(summaryPlan())
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	results.Steps[0].apply(record{Event: stepStarted})
	results.Steps[0].apply(record{Event: taskEnded, Outcome: &Outcome{Index: 0, Status: StatusSucceeded, Started: began, Duration: 1500 * time.Millisecond, Host: "n1"}})
	results.Steps[0].apply(record{Event: taskEnded, Outcome: &Outcome{Index: 1, Status: StatusFailed, Exit: 7, Attempt: 2, Started: began.Add(time.Second),
		Duration: 2 * time.Second, Message: "exited with status 7", Tail: "\x1b[31mred\x1b[0m & <b> ]]> \x00\xff\r\nend\n", Host: "n2", Output: "/logs/x.out"}})
	results.Steps[0].apply(record{Event: taskEnded, Outcome: &Outcome{Index: 2, Status: StatusTimedOut, Message: "ran for more than its limit of 1s"}})
	results.Steps[1].apply(record{Event: stepSkipped, Text: "build"})
	all := checkedJUnit(t, results, JUnitSummary{ApplicationID: "application_1_2", Problem: "it failed", Now: began})
	require.Len(t, all.Suites, 2)
	build, test := all.Suites[0], all.Suites[1]
	require.Equal(t, []any{"build", "nightly", 3, 2, 0, "3.000", "2026-01-02T02:04:05", "n1"},
		[]any{build.Name, build.Package, build.Tests, build.Failures, build.Skipped, build.Time, build.Timestamp, build.Hostname})
	require.Equal(t, "0 (<debian>, 3.10)", build.Cases[0].Name)
	require.Equal(t, "nightly.build", build.Cases[0].Class)
	require.Nil(t, build.Cases[0].Failure)
	require.Equal(t, &junitProblem{Message: "exited with status 7", Type: "failed",
		Text: "\nred & <b> ]]> \ufffd\ufffd\nend\n\n(try 2, the whole output in /logs/x.out on n2)\n"}, build.Cases[1].Failure)
	require.Equal(t, "timed out", build.Cases[2].Failure.Type)
	require.Equal(t, "2", build.Cases[2].Name)
	require.Equal(t, "not run: step build has not succeeded", test.Cases[0].Skipped.Message)
}

func TestJUnitOfAKilledApplication(t *testing.T) {
	about := JUnitSummary{ApplicationID: "a", Problem: "a was killed by someone", Now: time.Now()}

	all := checkedJUnit(t, UnfinishedResults(summaryPlan()), about)
	require.Equal(t, 3, all.Suites[0].Failures, "nothing is known: nothing may look like a success")
	require.Equal(t, "did not end: a was killed by someone", all.Suites[0].Cases[0].Failure.Message)

	results := UnfinishedResults(summaryPlan())
	results.Steps[0].apply(record{Event: stepStarted})
	results.Steps[0].apply(record{Event: taskEnded, Outcome: &Outcome{Index: 1, Status: StatusSucceeded}})
	all = checkedJUnit(t, results, about)
	require.Equal(t, []int{2, 0}, []int{all.Suites[0].Failures, all.Suites[0].Skipped})
	require.Nil(t, all.Suites[0].Cases[1].Failure)
	require.Equal(t, []int{0, 1}, []int{all.Suites[1].Failures, all.Suites[1].Skipped})
	require.Equal(t, "not run: a was killed by someone", all.Suites[1].Cases[0].Skipped.Message)
}

func TestJUnitWithAllowFailure(t *testing.T) {
	plan := summaryPlan()
	plan.Steps[0].AllowFailure = true
	results := UnfinishedResults(plan)
	results.Steps[0].apply(record{Event: stepStarted})
	results.Steps[0].apply(record{Event: taskEnded, Outcome: &Outcome{Index: 1, Status: StatusFailed, Message: "exited with status 1"}})
	results.Steps[0].apply(record{Event: stepEnded, Text: "it failed"})
	results.Steps[1].apply(record{Event: stepStarted})
	results.Steps[1].apply(record{Event: taskEnded, Outcome: &Outcome{Status: StatusSucceeded}})
	all := checkedJUnit(t, results, JUnitSummary{Now: time.Now()})
	require.Equal(t, []int{0, 3}, []int{all.Suites[0].Failures, all.Suites[0].Skipped})
	require.Equal(t, "may fail, and did: exited with status 1", all.Suites[0].Cases[1].Skipped.Message)
	require.Equal(t, "ended with another task's failure", all.Suites[0].Cases[0].Skipped.Message)
}
