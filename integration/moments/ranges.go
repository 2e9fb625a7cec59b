package moments

import (
	"fmt"
	"strconv"
	"strings"
)

// RangeRecords reads the lines that dataflow writes for the job sorted with -check. Each line
// has the first record, the last record and the number of records of a range of the sort.
// RangeRecords returns the number of records in all ranges. It fails if the ranges are not in
// order.
func RangeRecords(lines string) (records int, err error) {
	last := ""
	for line := range strings.Lines(lines) {
		fields := strings.Fields(line)
		if len(fields) != 5 {
			return 0, fmt.Errorf("%q does not consist of two keys with values and a number", line)
		}
		if first := fields[0] + fields[1]; first < last {
			return 0, fmt.Errorf("a range begins with %q, the one before it ends with %q", first, last)
		}
		last = fields[2] + fields[3]
		n, err := strconv.Atoi(fields[4])
		if err != nil {
			return 0, err
		}
		records += n
	}
	return records, nil
}
