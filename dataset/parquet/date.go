package parquet

import (
	"fmt"
	"time"
)

// Date is a day of the Gregorian calendar: the number of days since 1970-01-01.
type Date int32

const secondsPerDay = 24 * 60 * 60

// NewDate returns the date of a day. It normalizes values outside their ranges, as
// time.Date does.
func NewDate(year int, month time.Month, day int) Date {
	return Date(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix() / secondsPerDay)
}

// ParseDate returns the date of a string such as "1998-09-02".
func ParseDate(s string) (Date, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return 0, fmt.Errorf("the date %q is not like 1998-09-02", s)
	}
	return Date(t.Unix() / secondsPerDay), nil
}

// Time returns the beginning of the day in UTC.
func (d Date) Time() time.Time { return time.Unix(int64(d)*secondsPerDay, 0).UTC() }

// String returns the date in the form 1998-09-02.
func (d Date) String() string { return d.Time().Format(time.DateOnly) }

// MarshalText returns what String returns.
func (d Date) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText sets d as ParseDate does.
func (d *Date) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDate(string(text))
	return err
}
