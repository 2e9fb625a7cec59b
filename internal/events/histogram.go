package events

import (
	"encoding/json"
	"errors"
	"math/bits"
	"time"
)

// buckets is the number of buckets of a Histogram. The last bucket begins at 2^38 µs, which is
// about three days.
const buckets = 40

// Histogram counts durations in buckets whose limits double: bucket 0 is for durations below 1
// µs, bucket i for durations from 2^(i-1) µs to below 2^i µs, and the last bucket for all
// longer durations. The JSON of a Histogram is the array of counts, without zeros at the end.
type Histogram [buckets]int

func (h *Histogram) count(m Micros) { h[bucketOf(m)]++ }

func bucketOf(m Micros) int {
	if m <= 0 {
		return 0
	}
	return min(bits.Len64(uint64(m)), buckets-1)
}

// From returns the lower limit of a bucket.
func (h *Histogram) From(bucket int) time.Duration {
	if bucket == 0 {
		return 0
	}
	return Micros(1 << (bucket - 1)).Duration()
}

func (h *Histogram) add(other *Histogram) {
	for i, n := range other {
		h[i] += n
	}
}

// MarshalJSON implements json.Marshaler.
func (h Histogram) MarshalJSON() ([]byte, error) {
	used := buckets
	for used > 0 && h[used-1] == 0 {
		used--
	}
	return json.Marshal(h[:used])
}

// UnmarshalJSON implements json.Unmarshaler.
func (h *Histogram) UnmarshalJSON(encoded []byte) error {
	var counts []int
	if err := json.Unmarshal(encoded, &counts); err != nil {
		return err
	}
	if len(counts) > buckets {
		return errors.New("a histogram has too many buckets")
	}
	*h = Histogram{}
	copy(h[:], counts)
	return nil
}
