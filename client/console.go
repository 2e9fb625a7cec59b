package client

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// Console prints messages for the user. On a terminal, it also shows a live line below the
// messages, which it redraws in place. It is safe for concurrent use.
type Console struct {
	mu    sync.Mutex
	out   io.Writer
	width func() int // returns the number of columns; nil if out is not a terminal
	color bool
	live  string // the text of the live line
	// shared is set if the program's stdout is the same terminal as out.
	shared bool
}

// NewConsole returns a console that writes to out. If out is a terminal, the console shows a live
// line, with colours if NO_COLOR is not set.
func NewConsole(out io.Writer) *Console {
	console := &Console{out: out}
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || os.Getenv("TERM") == "dumb" {
		return console
	}
	console.color = os.Getenv("NO_COLOR") == ""
	console.width = func() int {
		columns, _, err := term.GetSize(int(file.Fd()))
		if err != nil || columns <= 0 {
			return 80
		}
		return columns
	}
	return console
}

// Share prepares the console for a program that prints to the same terminal. If stdout is a
// terminal, the live line is then shown only while tasks run, and starts at the position at which
// the program prints next. The program must print to the returned writer, which erases the live
// line and then writes to stdout.
func (c *Console) Share(stdout *os.File) io.Writer {
	if c.width == nil || !term.IsTerminal(int(stdout.Fd())) {
		return stdout
	}
	c.shared = true
	return &liveLineWriter{console: c, out: stdout}
}

// liveLineWriter is a writer that erases the console's live line before each write.
type liveLineWriter struct {
	console *Console
	out     io.Writer
}

func (b *liveLineWriter) Write(text []byte) (int, error) {
	c := b.console
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	c.live = "" // do not redraw the live line, because the text may end within a line
	return b.out.Write(text)
}

// HideShared erases the live line if the program's stdout is the same terminal. The next change of
// the live line shows it again.
func (c *Console) HideShared() {
	if c.shared {
		c.SetLive("")
	}
}

func (c *Console) isLive() bool { return c.width != nil }

// Print writes a line above the live line.
func (c *Console) Print(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	fmt.Fprintf(c.out, format+"\n", args...)
	c.draw()
}

// Write writes lines above the live line, for loggers. lines must end with a line end.
func (c *Console) Write(lines []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	n, err := c.out.Write(lines)
	c.draw()
	return n, err
}

// Warn prints a line that begins with "warning: ".
func (c *Console) Warn(format string, args ...any) {
	c.Print("warning: %s", fmt.Sprintf(format, args...))
}

// SetLive replaces the text of the live line; "" removes the line.
func (c *Console) SetLive(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.width == nil || text == c.live {
		return
	}
	c.erase()
	c.live = text
	c.draw()
}

// Close removes the live line.
func (c *Console) Close() { c.SetLive("") }

func (c *Console) erase() {
	if c.live != "" {
		fmt.Fprint(c.out, "\r\x1b[K")
	}
}

func (c *Console) draw() {
	if c.live == "" {
		return
	}
	line := c.live
	// Leave the last column empty, because some terminals would wrap a full line.
	if most := c.width() - 1; utf8.RuneCountInString(line) > most {
		line = string([]rune(line)[:max(most, 0)])
	}
	if c.color {
		line = colourBar(line)
	}
	if c.shared {
		line += "\r" // the program's next output overwrites the line
	}
	fmt.Fprint(c.out, line)
}

const (
	green = "\x1b[32m"
	red   = "\x1b[31m"
	reset = "\x1b[0m"
)

func colourBar(line string) string {
	open := strings.IndexByte(line, '[')
	if open < 0 {
		return line
	}
	done := strings.IndexFunc(line[open+1:], func(r rune) bool { return r != '=' && r != '>' })
	if done < 0 {
		done = len(line) - open - 1
	}
	return line[:open+1] + green + line[open+1:open+1+done] + reset + line[open+1+done:]
}

func (c *Console) paint(colour, word string) string {
	if !c.color {
		return word
	}
	return colour + word + reset
}

// bar returns a progress bar such as "[===> ]" with width characters between the brackets.
func bar(done, total, width int) string {
	if total <= 0 {
		return "[" + strings.Repeat(" ", width) + "]"
	}
	filled := width * min(done, total) / total
	switch {
	case filled == 0:
		return "[" + strings.Repeat(" ", width) + "]"
	case filled == width:
		return "[" + strings.Repeat("=", width) + "]"
	}
	return "[" + strings.Repeat("=", filled-1) + ">" + strings.Repeat(" ", width-filled) + "]"
}

// Seconds formats a duration like 0.3s, 12.3s, 2m05s or 1h02m.
func Seconds(d time.Duration) string {
	switch {
	case d.Round(100*time.Millisecond) < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d.Round(time.Second) < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// bytesText formats a size in bytes like 812 B or 21.0 MB.
func bytesText(n int64) string {
	value, unit := float64(n), 0
	units := []string{"B", "kB", "MB", "GB", "TB"}
	for value >= 999.95 && unit < len(units)-1 {
		value, unit = value/1000, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}
