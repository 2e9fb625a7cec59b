package ui

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// visible replaces characters that could hide or reorder other characters by escapes such as
// \u202e. They are control characters, except line breaks and tabs, and characters that embed
// or override a text direction.
func visible(s string) string {
	if strings.IndexFunc(s, hides) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hides(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func hides(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// firstLine returns the first line of s, cut after the given number of characters. It appends
// " …" if the result is not all of s.
func firstLine(s string, most int) string {
	s = strings.TrimSpace(s)
	line, _, more := strings.Cut(s, "\n")
	runes := []rune(line)
	if len(runes) > most {
		runes, more = runes[:most], true
	}
	if more {
		return string(runes) + " …"
	}
	return string(runes)
}

// count formats a number with a separator between groups of three digits.
func count[N ~int | ~int64 | ~uint64 | ~uint32 | ~int32](n N) string {
	digits := fmt.Sprint(n)
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	var b strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteRune('\u202f') // a narrow no-break space
		}
		b.WriteRune(digit)
	}
	return sign + b.String()
}

// plural returns "1 task" or "3 tasks".
func plural[N ~int | ~int64 | ~uint64 | ~uint32 | ~int32](n N, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return count(n) + " " + word + "s"
}

// size formats a number of bytes: "0 B", "1.5 MiB".
func size[N ~int | ~int64 | ~uint64](bytes N) string {
	value, unit := float64(bytes), 0
	for value >= 1024 && unit < len(units)-1 {
		value /= 1024
		unit++
	}
	if unit == 0 {
		return strconv.FormatInt(int64(bytes), 10) + " B"
	}
	return significant(value) + " " + units[unit]
}

var units = []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}

// significant formats a value, with one decimal if it is below 100.
func significant(value float64) string {
	if value < 99.95 {
		return strconv.FormatFloat(value, 'f', 1, 64)
	}
	return strconv.FormatFloat(value, 'f', 0, 64)
}

// duration formats a duration in one or two units: "12 ms", "3.4 s", "5 min 3 s".
func duration(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + duration(-d)
	case d == 0:
		return "0"
	case d < time.Millisecond:
		return strconv.FormatInt(d.Microseconds(), 10) + " µs"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < 99950*time.Millisecond:
		return significant(d.Seconds()) + " s"
	case d < time.Hour:
		d = d.Round(time.Second)
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	default:
		d = d.Round(time.Hour)
		return fmt.Sprintf("%d d %d h", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	}
}

// instant returns a cell with the time of day of t, and with date and time zone as tooltip. The
// cell is empty if t is zero.
func instant(t time.Time) cell {
	if t.IsZero() {
		return cell{}
	}
	return cell{Text: t.Local().Format("15:04:05"), Hint: moment(t)}
}

// moment formats a time with its date and time zone.
func moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 MST") }

// externalLink returns a cell with the text s and a link to address, a URL on another server.
// It omits the link if address is not an http or https URL.
func externalLink(s, address string) cell {
	c := text(s)
	if parsed, err := url.Parse(address); err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Host != "" {
		c.Link, c.Outside = address, true
	}
	return c
}
