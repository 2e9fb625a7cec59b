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

// Console prints messages for the user and, on a terminal, a live line below them
// that is redrawn in place. It is safe for concurrent use.
type Console struct {
	mu    sync.Mutex
	out   io.Writer
	width func() int // columns; nil if out is no terminal
	color bool
	live  string // the text of the live line
	// shared is set if the program's stdout is the same terminal.
	shared bool
}

// NewConsole returns a console for out. On a terminal it has a live line, in colour
// unless NO_COLOR is set.
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

// Share makes the console share its terminal with what the program prints, if stdout is a
// terminal too. The live line is then shown only while tasks run, and begins where the
// program would print next. The program must print to the returned writer, which erases the
// live line before it writes to stdout.
func (c *Console) Share(stdout *os.File) io.Writer {
	if c.width == nil || !term.IsTerminal(int(stdout.Fd())) {
		return stdout
	}
	c.shared = true
	return &liveLineWriter{console: c, out: stdout}
}

// liveLineWriter erases the live line of a console before each write.
type liveLineWriter struct {
	console *Console
	out     io.Writer
}

func (b *liveLineWriter) Write(text []byte) (int, error) {
	c := b.console
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	c.live = "" // not redrawn after text, which may end within a line
	return b.out.Write(text)
}

// HideShared erases the live line if the program's stdout is the same terminal. The line
// appears again when it next changes.
func (c *Console) HideShared() {
	if c.shared {
		c.SetLive("")
	}
}

func (c *Console) isLive() bool { return c.width != nil }

// Print writes a line that stays on the screen.
func (c *Console) Print(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.erase()
	fmt.Fprintf(c.out, format+"\n", args...)
	c.draw()
}

// Write writes complete lines, for loggers.
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

// SetLive replaces the live line; "" removes it.
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
	// Leave the last column empty, because a terminal would wrap the line otherwise.
	if most := c.width() - 1; utf8.RuneCountInString(line) > most {
		line = string([]rune(line)[:max(most, 0)])
	}
	if c.color {
		line = colourBar(line)
	}
	if c.shared {
		line += "\r" // what the program prints overwrites the line
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

// bar returns a progress bar such as "[===> ]", with width columns between the brackets.
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

// Seconds formats a duration briefly: 0.3s, 12.3s, 2m05s, 1h02m.
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

// bytesText formats a size: 812 B, 21.0 MB.
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
