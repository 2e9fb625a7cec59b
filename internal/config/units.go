package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes.
type Size int64

// Units of sizes, in bytes.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
	TiB Size = 1 << 40
)

var sizeUnits = map[string]Size{
	"b": 1, "k": KiB, "kb": KiB, "m": MiB, "mb": MiB, "g": GiB, "gb": GiB, "t": TiB, "tb": TiB,
}

// ParseSize parses a size in spark-submit's notation: 512m, 2g, 1t. The units are powers
// of 1024. A number without a unit is in MiB.
func ParseSize(s string) (Size, error) {
	digits, unit := splitUnit(s)
	factor, ok := sizeUnits[unit]
	if unit == "" {
		factor, ok = MiB, true
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || n < 0 {
		return 0, fmt.Errorf("want a size such as 512m or 2g")
	}
	if n > math.MaxInt64/int64(factor) {
		return 0, fmt.Errorf("larger than %d bytes", int64(math.MaxInt64))
	}
	return Size(n) * factor, nil
}

// MiB returns the size in MiB, the unit of memory in YARN, rounded up.
func (s Size) MiB() int64 { return int64((s + MiB - 1) / MiB) }

// String returns the size as a whole number of the largest unit that divides it, such as 2g or
// 1500m.
func (s Size) String() string {
	for _, unit := range []struct {
		size Size
		name string
	}{{TiB, "t"}, {GiB, "g"}, {MiB, "m"}, {KiB, "k"}} {
		if s != 0 && s%unit.size == 0 {
			return strconv.FormatInt(int64(s/unit.size), 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(s), 10) + "b"
}

var timeUnits = map[string]time.Duration{
	"us": time.Microsecond, "ms": time.Millisecond, "s": time.Second, "m": time.Minute, "min": time.Minute,
	"h": time.Hour, "d": 24 * time.Hour,
}

// ParseDuration parses a duration such as 100ms, 30s, 5m, 2h or 7d. A number without a unit is
// in milliseconds, as in Spark. Go's notation, such as 1m30s, is valid too.
func ParseDuration(s string) (time.Duration, error) {
	digits, unit := splitUnit(s)
	factor, ok := timeUnits[unit]
	if unit == "" {
		factor, ok = time.Millisecond, true
	}
	if n, err := strconv.ParseInt(digits, 10, 64); ok && err == nil && n >= 0 {
		if n > math.MaxInt64/int64(factor) {
			return 0, fmt.Errorf("longer than %v", time.Duration(math.MaxInt64))
		}
		return time.Duration(n) * factor, nil
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return d, nil
	}
	return 0, fmt.Errorf("want a time such as 100ms, 30s or 5m")
}

func splitUnit(s string) (digits, unit string) {
	s = strings.ToLower(strings.TrimSpace(s))
	end := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		return s, ""
	}
	return s[:end], strings.TrimSpace(s[end:])
}
