package parquet

import (
	"fmt"
	"math"
	"math/big"
	"time"
)

// allTypes has a field for each type of column that the files in testdata have.
type allTypes struct {
	Bool        bool
	Int8        int8
	Int16       int16
	Int32       int32
	Int64       int64
	Uint8       uint8
	Uint16      uint16
	Uint32      uint32 `parquet:",optional"`
	Uint64      uint64
	Float16     float32
	Float32     float32
	Float64     float64
	String      string
	Bytes       []byte
	Fixed       [4]byte `parquet:",optional"`
	Date        Date
	Millis      time.Time
	Micros      time.Time
	Nanos       time.Time
	Time        time.Duration
	Decimal9    int32               `parquet:",decimal(9,2)"`
	Decimal18   int64               `parquet:",decimal(18,4)"`
	Decimal38   Decimal             `parquet:",decimal(38,4)"`
	MaybeInt    *int32              `parquet:"maybe_int"`
	MaybeString *string             `parquet:"maybe_string"`
	MaybeTime   *time.Time          `parquet:"maybe_time"`
	List        []int64             `parquet:"list"`
	Lists       [][]*string         `parquet:"lists"`
	Struct      pair                `parquet:"struct"`
	MaybeStruct *pair               `parquet:"maybe_struct"`
	Structs     []pair              `parquet:"structs"`
	Map         map[string]int64    `parquet:"map"`
	MapOfLists  map[int32][]*string `parquet:"map_of_lists"`
}

type pair struct {
	A int64
	B *string
}

// nilEachThird returns a pointer to v, but nil for every third row i, beginning with row 1.
func nilEachThird[T any](i int, v T) *T {
	if i%3 == 1 {
		return nil
	}
	return &v
}

// moment returns the time in row i.
func moment(i int) time.Time {
	return time.Date(2020, 2, 29, 12, 34, 56, 789_000_000, time.UTC).AddDate(0, 0, i).Add(time.Duration(i) * time.Microsecond)
}

// number returns the unscaled value of the decimals in row i.
func number(i int) int64 { return int64(i)*1_234_567 - 1000 }

// rowOfAllTypes returns row i of the files in testdata.
func rowOfAllTypes(i int) allTypes {
	at := moment(i)
	e := allTypes{
		Bool: i%2 == 0, Int8: int8(i%100 - 50), Int16: int16(i - 5), Int32: int32(i%2000*1_000_003 - 7), Int64: int64(i)*1e12 - 9,
		Uint8: uint8(i), Uint16: uint16(60_000 + i%5000), Uint32: math.MaxUint32 - uint32(i), Uint64: math.MaxUint64 - uint64(i),
		Float16: float32(i%100) / 2, Float32: float32(i) / 4, Float64: float64(i) / 3,
		String: fmt.Sprintf("text %d", i%7), Bytes: fmt.Appendf(nil, "\x00\xff%d", i), Fixed: [4]byte([]byte(fmt.Sprintf("%04d", i%10_000))),
		Date: NewDate(2020, 2, 29+i), Millis: at.Truncate(time.Millisecond), Micros: at, Nanos: at,
		Time:     time.Duration(i) * 1_000_003 * time.Microsecond,
		Decimal9: int32(number(i % 10)), Decimal18: number(i), MaybeInt: nilEachThird(i, int32(i)),
		MaybeString: nilEachThird(i, fmt.Sprintf("some %d", i)), MaybeTime: nilEachThird(i, at),
		Lists: [][]*string{}, Struct: pair{int64(i), nilEachThird(i, fmt.Sprintf("b%d", i))}, Structs: []pair{}, MapOfLists: map[int32][]*string{},
	}
	unscaled := big.NewInt(-number(i))
	unscaled.Mul(unscaled, new(big.Int).Exp(big.NewInt(10), big.NewInt(20), nil))
	e.Decimal38 = decimal(unscaled, 4)
	for j := range i % 4 {
		texts := nilEachThird[[]*string](j, []*string{})
		for range j {
			if texts != nil {
				text := fmt.Sprintf("%d.%d", i, j)
				*texts = append(*texts, &text)
			}
		}
		if texts == nil {
			texts = new([]*string)
		}
		e.Lists = append(e.Lists, *texts)
	}
	for j := range i % 3 {
		e.Structs = append(e.Structs, pair{int64(j), nilEachThird(j, "x")})
		texts := []*string{}
		for range j {
			text := fmt.Sprint(i)
			texts = append(texts, &text)
		}
		e.MapOfLists[int32(j)] = texts
	}
	if i%3 != 1 {
		e.List = []int64{}
		for j := range i % 4 {
			e.List = append(e.List, int64(j))
		}
		e.MaybeStruct = &pair{A: int64(i)}
		e.Map = map[string]int64{}
		for j := range i % 3 {
			e.Map[fmt.Sprintf("k%d", j)] = int64(i + j)
		}
	}
	return e
}

// decimal returns a Decimal with a value of up to 128 bits.
func decimal(unscaled *big.Int, scale int32) Decimal {
	high := new(big.Int).Rsh(unscaled, 64) // rounds down
	low := new(big.Int).Sub(unscaled, new(big.Int).Lsh(high, 64))
	return Decimal{High: high.Int64(), Low: low.Uint64(), Scale: scale}
}
