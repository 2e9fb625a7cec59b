package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/client"
)

func TestListIsATable(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	applications := []client.ListedApplication{
		{ApplicationID: "application_1_0002", Name: "näme", User: "ann", Queue: "default", State: "RUNNING", FinalStatus: "UNDEFINED", Started: began, Finished: began.Add(time.Second)},
		{ApplicationID: "application_1_0001", Name: "RUNNING", User: "bo", Queue: "q", State: "FINISHED", FinalStatus: "FAILED", Started: began, Finished: began.Add(90 * time.Second)},
	}
	out := &bytes.Buffer{}
	require.NoError(t, printList(out, applications, false))
	require.Equal(t, "APPLICATION         NAME     USER  QUEUE    STATE     STATUS     STARTED              TOOK\n"+
		"application_1_0002  näme     ann   default  RUNNING   UNDEFINED  2026-01-02 03:04:05  1s\n"+
		"application_1_0001  RUNNING  bo    q        FINISHED  FAILED     2026-01-02 03:04:05  1m30s\n", out.String())
	plain := out.String()
	out.Reset()
	require.NoError(t, printList(out, applications, true))
	coloured := out.String()
	require.Contains(t, coloured, "default  \x1b[32mRUNNING\x1b[0m   UNDEFINED")
	require.Contains(t, coloured, "\x1b[31mFAILED\x1b[0m")
	require.Contains(t, coloured, "  RUNNING  bo", "a name is none of the states")
	for _, code := range []string{colourGreen, colourRed, colourReset} {
		coloured = strings.ReplaceAll(coloured, code, "")
	}
	require.Equal(t, plain, coloured)
}
