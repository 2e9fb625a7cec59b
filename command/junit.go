package command

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

// JUnitSummary is information about the application for its JUnit file.
type JUnitSummary struct {
	ApplicationID string // "" if the application was not submitted
	// Problem is a one-line reason why the application did not succeed; "" if it succeeded.
	Problem string
	Now     time.Time
}

// The types produce files that are valid for the schemas of Ant's JUnitReport and of Jenkins' xUnit
// plug-in. So every problem is a <failure>, test cases contain no output, and each suite has all
// possible child elements.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Package    string          `xml:"package,attr"`
		ID         int             `xml:"id,attr"`
		Timestamp  string          `xml:"timestamp,attr"` // UTC, without a time zone
		Hostname   string          `xml:"hostname,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"` // in seconds
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
		Out        string          `xml:"system-out"`
		Err        string          `xml:"system-err"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitProblem `xml:"failure"`
		Skipped *junitProblem `xml:"skipped"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"` // only for failures
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes a JUnit file to w, with a test suite for each step and a test case for each
// task.
func (r *Results) WriteJUnit(w io.Writer, about JUnitSummary) error {
	var suites junitSuites
	nothingRan := true
	for _, step := range r.Steps {
		nothingRan = nothingRan && !step.Started
	}
	for i := range r.Steps {
		suites.Suites = append(suites.Suites, r.suite(i, about, nothingRan))
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(suites); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (r *Results) suite(number int, about JUnitSummary, nothingRan bool) junitSuite {
	step, results := &r.plan.Steps[number], &r.Steps[number]
	job := cmp.Or(r.plan.Name, "job")
	suite := junitSuite{
		Name: cmp.Or(step.Name, job), Package: job, ID: number, Hostname: "localhost", Tests: len(results.Tasks),
		Properties: []junitProperty{{"application", about.ApplicationID}},
	}
	var first, last time.Time
	for index, outcome := range results.Tasks {
		test := junitCase{Name: caseName(step, index), Class: job + "." + suite.Name, Time: secondsText(outcome.Duration)}
		if outcome.Status != StatusSucceeded {
			failure, problem := r.problem(number, &outcome, about, nothingRan)
			if failure {
				test.Failure, suite.Failures = problem, suite.Failures+1
			} else {
				problem.Type, problem.Text = "", ""
				test.Skipped, suite.Skipped = problem, suite.Skipped+1
			}
		}
		suite.Cases = append(suite.Cases, test)
		if outcome.Started.IsZero() {
			continue
		}
		if first.IsZero() || outcome.Started.Before(first) {
			first = outcome.Started
		}
		if end := outcome.Started.Add(outcome.Duration); end.After(last) {
			last = end
		}
		if suite.Hostname == "localhost" && outcome.Host != "" {
			suite.Hostname = outcome.Host // host of the first task that has one, because a suite has only one host
		}
	}
	suite.Time = secondsText(last.Sub(first))
	if first.IsZero() {
		first = about.Now
	}
	suite.Timestamp = first.UTC().Format("2006-01-02T15:04:05")
	suite.Out = results.Problem
	return suite
}

// problem describes why a task did not succeed. failure reports whether the JUnit file shows the
// task as failed; otherwise the file shows the task as skipped.
func (r *Results) problem(number int, outcome *Outcome, about JUnitSummary, nothingRan bool) (failure bool, problem *junitProblem) {
	step, results := &r.plan.Steps[number], &r.Steps[number]
	problem = &junitProblem{Type: string(outcome.Status), Message: outcome.Message}
	line, _, _ := strings.Cut(results.Problem, "\n")
	switch outcome.Status {
	case StatusFailed, StatusTimedOut:
		failure = true
		problem.Text = "\n" + withoutEscapes(outcome.Tail)
		if outcome.Output != "" {
			problem.Text += fmt.Sprintf("\n(try %d, the whole output in %s on %s)\n", outcome.Attempt, outcome.Output, outcome.Host)
		}
	case StatusSkipped:
		problem.Message = "not run: step " + results.SkippedBecause + " has not succeeded"
	default:
		failed := false
		for _, other := range results.Tasks {
			failed = failed || other.Status == StatusFailed || other.Status == StatusTimedOut
		}
		switch {
		case results.Problem != "" && failed:
			problem.Message = "ended with another task's failure"
		case results.Problem != "":
			failure, problem.Message = true, line
		case results.Started || nothingRan:
			failure, problem.Message = true, "did not end: "+cmp.Or(about.Problem, "the application reports no reason")
		default:
			problem.Message = "not run: " + cmp.Or(about.Problem, "the application reports no reason")
		}
	}
	if failure && step.AllowFailure {
		failure, problem.Message = false, "may fail, and did: "+problem.Message
	}
	return failure, problem
}

// caseName returns the name of a task within its step: the task's index and its values.
func caseName(step *Step, index int) string {
	if label := step.Tasks[index].Label(); label != "" {
		return fmt.Sprintf("%d (%s)", index, label)
	}
	return fmt.Sprint(index)
}

func secondsText(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// ansi matches the escape sequences of terminals, such as those that set colours.
var ansi = regexp.MustCompile("\x1b\\[[0-9;?]*[ -/]*[@-~]")

// withoutEscapes returns text without escape sequences, and with \n as line end.
func withoutEscapes(text string) string {
	return strings.ReplaceAll(ansi.ReplaceAllString(text, ""), "\r\n", "\n")
}
