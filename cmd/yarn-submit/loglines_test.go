package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client/logs"
)

func TestLinesBeginWithTheirContainer(t *testing.T) {
	out := &bytes.Buffer{}
	lines := newLineWriter(out)
	for _, line := range []logs.Line{
		{Container: "c1", Executor: "driver", Attempt: 1, File: "stderr", Text: "starting"},
		{Container: "c2", Executor: "1", Attempt: 1, File: "stdout", Text: "one"},
		{Container: "c2", Executor: "1", Attempt: 1, File: "task-0-0.out", Text: "of a task"},
		{Container: "c3", Executor: "", Attempt: 1, File: "stdout", Text: "who?"},
		{Container: "c4", Executor: "launcher", Attempt: 2, File: "stderr", Text: ""},
	} {
		require.NoError(t, lines.write(line))
	}
	require.Equal(t, "driver     | starting\n"+
		"executor 1 | one\n"+
		"executor 1 task-0-0.out | of a task\n"+
		"executor ?              | who?\n"+
		"launcher/2              | \n", out.String(), "no colours without a terminal")

	out.Reset()
	lines = newLineWriter(out)
	lines.colours = true
	for _, container := range []string{"c1", "c2", "c1"} {
		require.NoError(t, lines.write(logs.Line{Container: container, Executor: "1", Attempt: 1, File: "stdout", Text: "x"}))
	}
	require.Equal(t, "\x1b[36mexecutor 1 |\x1b[0m x\n\x1b[33mexecutor 1 |\x1b[0m x\n\x1b[36mexecutor 1 |\x1b[0m x\n", out.String())
}

func TestLinesAsJSON(t *testing.T) {
	out := &bytes.Buffer{}
	require.NoError(t, jsonLines(out)(logs.Line{Container: "c", Executor: "1", Attempt: 1, File: "stdout", Text: "<a>\xff"}))
	require.Equal(t, `{"container":"c","executor":"1","attempt":1,"file":"stdout","line":"<a>`+"\uFFFD"+`"}`+"\n", out.String())
}
