package client

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// failureCause is the reason why an application failed or was killed.
type failureCause struct {
	message string // one line: the event and, if there is one, the setting that prevents it
	details string // text from YARN or the program; "" if message contains all of it
}

// explain derives the failure cause from an application's state and diagnostics. Diagnostics from
// bobbin's ApplicationMaster begin with a one-line message. Diagnostics from YARN contain the
// reason somewhere in a long text.
func explain(state, diagnostics string) failureCause {
	diagnostics = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(diagnostics), recoveredPrefix))
	switch state {
	case stateFinished:
		return explainFinished(diagnostics)
	case stateKilled:
		return explainKilled(diagnostics)
	}
	return explainFailed(diagnostics)
}

// recoveredPrefix is the prefix that a restarted ResourceManager adds to an application's
// diagnostics (RMAppImpl of Hadoop 3).
const recoveredPrefix = "Attempt recovered after RM restart"

func explainFinished(diagnostics string) failureCause {
	if diagnostics == "" {
		return failureCause{message: "the program gave no reason; see its logs with yarn-submit logs"}
	}
	message, details, _ := strings.Cut(diagnostics, "\n")
	return failureCause{message: strings.TrimSpace(message), details: strings.Trim(details, "\n")}
}

// killedBy matches the diagnostics of a killed application (ClientRMService of Hadoop 3).
var killedBy = regexp.MustCompile(`was killed by user (\S+?)(?: at (\S+?))?(?: with diagnostic message: (.+))?\.?(?:\n|$)`)

func explainKilled(diagnostics string) failureCause {
	if match := killedBy.FindStringSubmatch(diagnostics); match != nil {
		message := "killed by user " + match[1]
		if match[2] != "" {
			message += " from " + match[2]
		}
		if match[3] != "" {
			message += ": " + strings.TrimSpace(match[3])
		}
		return failureCause{message: message, details: dropIfRepeated(diagnostics, match[0])}
	}
	if strings.Contains(diagnostics, "exceed") && strings.Contains(diagnostics, "lifetime") {
		return failureCause{message: "killed by YARN because it ran longer than its lifetime allows", details: diagnostics}
	}
	if first, rest, _ := strings.Cut(diagnostics, "\n"); first != "" {
		return failureCause{message: "killed: " + first, details: rest}
	}
	return failureCause{message: "killed; YARN does not say by whom"}
}

// dropIfRepeated returns diagnostics. It returns "" if diagnostics are a single line that contains
// message.
func dropIfRepeated(diagnostics, message string) string {
	if !strings.Contains(diagnostics, "\n") && strings.Contains(diagnostics, message) {
		return ""
	}
	return diagnostics
}

// clusterCauses maps patterns in YARN's diagnostics to messages. The first match applies. The field
// words is the message; $1 and so on stand for the groups of the pattern.
var clusterCauses = []struct {
	pattern *regexp.Regexp
	words   string
}{
	{regexp.MustCompile(`(?s)beyond (?:the )?'?(?:PHYSICAL|physical)'? memory limits?\. Current usage: (\S+ ?\S+) of (\S+ ?\S+) physical memory used`),
		"the ApplicationMaster's container was killed for using $1 of $2 physical memory: raise --driver-memory (driver.memory)"},
	{regexp.MustCompile(`(?s)beyond (?:the )?'?(?:VIRTUAL|virtual)'? memory limits?\..*?; (\S+ ?\S+) of (\S+ ?\S+) virtual memory used`),
		"the ApplicationMaster's container was killed for using $1 of $2 virtual memory: raise --driver-memory (driver.memory), " +
			"or have the cluster set yarn.nodemanager.vmem-check-enabled to false"},
	{regexp.MustCompile(`to unknown queue ?: ?(\S+)`), "the queue $1 does not exist: name another with --queue (yarn.queue)"},
	{regexp.MustCompile(`to non-leaf queue ?: ?(\S+)`), "the queue $1 only holds other queues: name one of those with --queue (yarn.queue)"},
	{regexp.MustCompile(`User (\S+) (?:does not have permission to|cannot) submit (?:\S+ |applications )?to queue (\S+)`),
		"user $1 may not submit to queue $2: name another with --queue (yarn.queue), or ask for access"},
	{regexp.MustCompile(`(?:Queue|queue) (\S+) already has (\d+) applications`), "the queue $1 is full ($2 applications): try again later or name another with --queue"},
	{regexp.MustCompile(`Resource (\S+) changed on src filesystem`),
		"a staged file was replaced after the submission: $1; submit again"},
	{regexp.MustCompile(`File does not exist: (\S+)`), "a staged file was removed before the containers could fetch it: $1; submit again"},
	{regexp.MustCompile(`Permission denied: user=([^,\s]+), access=(\w+), inode="([^"]+)"`), "user $1 may not $2 $3 in HDFS"},
	{regexp.MustCompile(`HDFS_DELEGATION_TOKEN owner=[^)]*\) (?:is expired|can't be found in cache)|Token \S* has expired, current time:`),
		"YARN could not fetch the application's files to start its ApplicationMaster, as the submission's delegation tokens have ended " +
			"(dfs.namenode.delegation.token.max-lifetime): submit it again; YARN can start it later only if the ResourceManager " +
			"may get new tokens (yarn.resourcemanager.proxy-user-privileges.enabled)"},
	{regexp.MustCompile(`Failed to renew token: Kind: HDFS_DELEGATION_TOKEN`),
		"the ResourceManager may not renew the submission's delegation token: its renewer must be the ResourceManager " +
			"(yarn.resourcemanager.principal, hadoop.security.auth_to_local); yarn-submit doctor shows the renewer"},
	{regexp.MustCompile(`ApplicationMaster for attempt (\S+) timed out`),
		"the ApplicationMaster ($1) stopped reporting: its node may be down, or the program hangs (yarn.am.liveness-monitor.expiry-interval-ms of the cluster)"},
	{regexp.MustCompile(`(?m)^((?:panic|fatal error): .+)$`), "the ApplicationMaster crashed: $1"},
	{regexp.MustCompile(`(?i)(cannot execute binary file|exec format error)`),
		"the nodes cannot execute the program ($1): it was built for another processor; set yarn.platform to that of the nodes"},
	{regexp.MustCompile(`Error launching (appattempt_\S+)\. Got exception: ([^\n]+)`), "YARN could not start the ApplicationMaster ($1): $2"},
}

var containerExit = regexp.MustCompile(`exited with\s+exitCode:?\s*(-?\d+)`)

func explainFailed(diagnostics string) failureCause {
	if diagnostics == "" {
		return failureCause{message: "YARN gave no reason; its ResourceManager's log has more"}
	}
	diagnostics = withoutRepeatedParagraphs(diagnostics)
	for _, known := range clusterCauses {
		if match := known.pattern.FindStringSubmatchIndex(diagnostics); match != nil {
			return failureCause{message: string(known.pattern.ExpandString(nil, known.words, diagnostics, match)), details: diagnostics}
		}
	}
	if exit := containerExit.FindStringSubmatch(diagnostics); exit != nil {
		if status, err := strconv.Atoi(exit[1]); err == nil {
			return failureCause{message: "the ApplicationMaster's container ended: " + exitMeaning(status), details: diagnostics}
		}
	}
	message, rest, _ := strings.Cut(diagnostics, "\n")
	return failureCause{message: message, details: strings.Trim(rest, "\n")}
}

// paragraphStart matches the timestamps with which NodeManagers begin paragraphs, such as
// "[2026-11-21 12:42:09.162]".
var paragraphStart = regexp.MustCompile(`(?m)^\[\d{4}-\d\d-\d\d [\d:.]+\]`)

// withoutRepeatedParagraphs removes paragraphs that occur twice, because a NodeManager reports the
// end of a container twice, each time with the container's stderr.
func withoutRepeatedParagraphs(diagnostics string) string {
	var kept strings.Builder
	seen := map[string]bool{}
	rest := diagnostics
	for rest != "" {
		next := len(rest)
		if starts := paragraphStart.FindAllStringIndex(rest, 2); len(starts) > 0 {
			if next = starts[0][0]; next == 0 {
				next = len(rest)
				if len(starts) > 1 {
					next = starts[1][0]
				}
			}
		}
		paragraph := rest[:next]
		rest = rest[next:]
		text := strings.TrimSpace(paragraphStart.ReplaceAllString(paragraph, ""))
		end := strings.Index(text, detailedOutput)
		if end >= 0 {
			text = strings.TrimSpace(text[:end])
		}
		switch {
		case !seen[text]:
			kept.WriteString(paragraph)
		case end >= 0:
			kept.WriteString(paragraph[strings.Index(paragraph, detailedOutput):])
		}
		seen[text] = true
	}
	return strings.TrimSpace(kept.String())
}

// detailedOutput is the beginning of the text that the ResourceManager appends to the diagnostics
// of a NodeManager.
const detailedOutput = "For more detailed output, check the application tracking page"

// exitMeanings maps exit statuses of containers to their meanings. They are statuses of YARN
// (ContainerExitStatus.java of Hadoop 3) and of bobbin's ApplicationMaster.
var exitMeanings = map[int]string{
	-100:  "aborted by YARN",
	-101:  "the node's disks failed",
	-102:  "preempted for another application: submit it to a queue with more room, or try again",
	-103:  "killed for using more virtual memory than it was given: raise --driver-memory (driver.memory)",
	-104:  "killed for using more physical memory than it was given: raise --driver-memory (driver.memory)",
	-105:  "stopped by the application itself",
	-106:  "stopped by the ResourceManager",
	-107:  "stopped after the application had ended",
	-108:  "killed by the node's container scheduler",
	-109:  "killed for writing more to its disk than the node allows",
	-1000: "its files could not be fetched to the node, or it could not be set up there",
	10:    "an error that nothing handled",
	11:    "too many executors failed",
	12:    "it lost the ResourceManager",
	13:    "the program did not create its Session in time (yarn.am.waitTime)",
	14:    "its credentials were not accepted",
	15:    "the program's function failed",
	16:    "the program ended the process before its function returned",
	17:    "it was disconnected from the driver",
	126:   "the program could not be executed (exit status 126)",
	127:   "the program was not found in its container (exit status 127)",
	137:   "killed (exit status 137): if no user did so, its node ran out of memory",
	143:   "stopped by SIGTERM (exit status 143)",
}

func exitMeaning(status int) string {
	if meaning, ok := exitMeanings[status]; ok {
		return meaning
	}
	return fmt.Sprintf("exit status %d; yarn-submit logs shows what it wrote", status)
}

// States of an application (YarnApplicationState.java of Hadoop 3).
const (
	stateAccepted = "ACCEPTED"
	stateRunning  = "RUNNING"
	stateFinished = "FINISHED"
	stateFailed   = "FAILED"
	stateKilled   = "KILLED"
)
