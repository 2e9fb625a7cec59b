package shuffle

import (
	"math"
	"slices"
)

const (
	maxExactPartitions = 2000 // largest number of partitions for which Sizes.Logarithms is set
	hugeFactor         = 8    // a partition is huge if it is at least this many times as large as the average
	maxHuge            = 100  // largest number of huge partitions that Sizes.Huge has
)

// Sizes are the sizes of an output's partitions in bytes, in a compact form. The sizes are
// estimates, except that 0 is exact. In the zero value all partitions are empty.
type Sizes struct {
	// Logarithms has for each partition the logarithm of its size to the base 1.1, rounded
	// up; 0 means empty. It is nil if there are more than 2,000 partitions.
	Logarithms []byte `cbor:",omitempty"`
	// Average is the average size of the partitions that are neither empty nor huge.
	Average int64 `cbor:",omitempty"`
	// NonEmpty has a bit for each partition, which is set if the partition is not empty.
	// NonEmpty, Average and Huge are used only if Logarithms is nil.
	NonEmpty []byte `cbor:",omitempty"`
	// Huge has the sizes of at most 100 partitions that are at least about eight times as
	// large as the average.
	Huge map[uint32]int64 `cbor:",omitempty"`
}

func newSizes(sizes []int64) Sizes {
	total, used := int64(0), int64(0)
	for _, size := range sizes {
		if size > 0 {
			total += size
			used++
		}
	}
	switch {
	case used == 0:
		return Sizes{}
	case len(sizes) <= maxExactPartitions:
		logs := make([]byte, len(sizes))
		for i, size := range sizes {
			logs[i] = sizeLog(size)
		}
		return Sizes{Logarithms: logs}
	}
	s := Sizes{NonEmpty: make([]byte, (len(sizes)+7)/8)}
	least := hugeSize(sizes, hugeFactor*(total/used+1))
	for i, size := range sizes {
		if size == 0 {
			continue
		}
		s.NonEmpty[i/8] |= 1 << (i % 8)
		if size >= least && len(s.Huge) < maxHuge {
			if s.Huge == nil {
				s.Huge = map[uint32]int64{}
			}
			s.Huge[uint32(i)] = size
			total -= size
			used--
		}
	}
	s.Average = max(total/max(used, 1), 1)
	return s
}

// hugeSize returns the smallest size of a partition that is listed in Sizes.Huge: the parameter
// limit or, if more than maxHuge partitions have at least that size, the size of the maxHuge-th
// largest partition.
func hugeSize(sizes []int64, limit int64) int64 {
	var huge []int64
	for _, size := range sizes {
		if size >= limit {
			huge = append(huge, size)
		}
	}
	if len(huge) <= maxHuge {
		return limit
	}
	slices.Sort(huge)
	return huge[len(huge)-maxHuge]
}

// Of returns the estimated size of a partition in bytes. It returns 0 if and only if the
// partition is empty. If the output has at most 2,000 partitions, the estimate differs from
// the true size by at most a tenth.
func (s *Sizes) Of(partition int) int64 {
	if partition < 0 {
		return 0
	}
	if partition < len(s.Logarithms) {
		return logSizes[s.Logarithms[partition]]
	}
	if partition/8 >= len(s.NonEmpty) || s.NonEmpty[partition/8]&(1<<(partition%8)) == 0 {
		return 0
	}
	if size, huge := s.Huge[uint32(partition)]; huge {
		return size
	}
	return s.Average
}

// sizeLog returns the logarithm of a size to the base 1.1, rounded up, but at least 1 and
// at most 255. For size 0 it returns 0.
func sizeLog(size int64) byte {
	if size <= 0 {
		return 0
	}
	return byte(min(max(math.Ceil(math.Log(float64(size))/math.Log(1.1)), 1), 255))
}

// logSizes has the estimated size for each value of sizeLog.
var logSizes = func() (sizes [256]int64) {
	for i := range sizes[1:] {
		sizes[i+1] = int64(math.Pow(1.1, float64(i+1)))
	}
	return sizes
}()
