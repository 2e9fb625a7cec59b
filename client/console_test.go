package client

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// liveConsole returns a console for a terminal with the given number of columns, and its output.
func liveConsole(columns int) (*Console, *bytes.Buffer) {
	out := &bytes.Buffer{}
	return &Console{out: out, width: func() int { return columns }}, out
}

// screen returns the lines that a terminal shows after the output written. It interprets line
// feeds, carriage returns and the sequence that erases the rest of a line.
func screen(written string) []string {
	lines, column := []string{""}, 0
	for len(written) > 0 {
		last := len(lines) - 1
		switch {
		case strings.HasPrefix(written, "\x1b[K"):
			lines[last] = lines[last][:column]
			written = written[len("\x1b[K"):]
			continue
		case written[0] == '\n':
			lines, column = append(lines, ""), 0
		case written[0] == '\r':
			column = 0
		default:
			lines[last] = lines[last][:column] + written[:1] + lines[last][min(column+1, len(lines[last])):]
			column++
		}
		written = written[1:]
	}
	return lines
}

func TestConsoleKeepsTheLiveLineLast(t *testing.T) {
	console, out := liveConsole(20)
	console.SetLive("working 1")
	console.Print("a line")
	console.SetLive("a live line that is far too long")
	console.Warn("careful")
	_, _ = console.Write([]byte("log\n"))
	require.Equal(t, []string{"a line", "warning: careful", "log", "a live line that is"}, screen(out.String()))
	console.Close()
	require.Equal(t, []string{"a line", "warning: careful", "log", ""}, screen(out.String()))
}

func TestConsoleHasNoLiveLineWithoutATerminal(t *testing.T) {
	out := &bytes.Buffer{}
	console := NewConsole(out)
	console.SetLive("working")
	console.Print("done")
	require.Equal(t, "done\n", out.String())
	require.Equal(t, "word", console.paint(green, "word"))
}

func TestBar(t *testing.T) {
	for _, test := range []struct {
		done, total int
		want        string
	}{
		{0, 0, "[          ]"}, {0, 10, "[          ]"}, {1, 100, "[          ]"}, {1, 10, "[>         ]"}, {5, 10, "[====>     ]"},
		{99, 100, "[========> ]"}, {10, 10, "[==========]"}, {12, 10, "[==========]"},
	} {
		require.Equal(t, test.want, bar(test.done, test.total, 10))
	}
	require.Equal(t, "x ["+green+"==>"+reset+"  ] 3/5", colourBar("x [==>  ] 3/5"))
	require.Equal(t, "x ["+green+"=="+reset, colourBar("x [=="))
	require.Equal(t, "x", colourBar("x"))
}

func TestSecondsAndBytesText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0.0s", 340 * time.Millisecond: "0.3s", 12*time.Second + 340*time.Millisecond: "12.3s", 59990 * time.Millisecond: "1m00s",
		125 * time.Second: "2m05s", 62 * time.Minute: "1h02m",
	} {
		require.Equal(t, want, Seconds(d))
	}
	for n, want := range map[int64]string{0: "0 B", 812: "812 B", 21_000_000: "21.0 MB", 999_999: "1.0 MB", 3_500_000_000: "3.5 GB"} {
		require.Equal(t, want, bytesText(n))
	}
}
