package parquet

import (
	"cmp"
	"fmt"
	"math/big"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// Decimal is a decimal number of up to 38 digits. Its value is the 128-bit integer of High
// and Low, divided by 10 to the power of Scale.
type Decimal struct {
	High  int64
	Low   uint64
	Scale int32 // digits after the point
}

// maxPrecision is the largest number of digits of a Decimal.
const maxPrecision = 38

// NewDecimal returns the value unscaled / 10^scale.
func NewDecimal(unscaled int64, scale int32) Decimal {
	return Decimal{High: unscaled >> 63, Low: uint64(unscaled), Scale: scale}
}

// ParseDecimal returns the value of a string such as "-12.50". Scale is the number of digits
// after the point, 2 in this case.
func ParseDecimal(s string) (Decimal, error) {
	before, after, _ := strings.Cut(s, ".")
	unscaled, ok := new(big.Int).SetString(before+after, 10)
	if !ok || strings.ContainsAny(s, "_ ") || strings.ContainsAny(after, "+-") {
		return Decimal{}, fmt.Errorf("the decimal %q is not like -12.50", s)
	}
	if digits := len(new(big.Int).Abs(unscaled).String()); max(digits, len(after)) > maxPrecision {
		return Decimal{}, fmt.Errorf("the decimal %q has more than %d digits", s, maxPrecision)
	}
	return decimalOf(decimal128.FromBigInt(unscaled), int32(len(after))), nil
}

func decimalOf(n decimal128.Num, scale int32) Decimal {
	return Decimal{High: n.HighBits(), Low: n.LowBits(), Scale: scale}
}

func (d Decimal) number() decimal128.Num { return decimal128.New(d.High, d.Low) }

// Unscaled returns the value times 10^Scale: its digits without the point.
func (d Decimal) Unscaled() *big.Int { return d.number().BigInt() }

// Float64 returns the float64 that is nearest to the value.
func (d Decimal) Float64() float64 {
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d.Scale)), nil)
	f, _ := new(big.Rat).SetFrac(d.Unscaled(), scale).Float64()
	return f
}

// Compare returns -1 if d is less than other, 1 if it is greater, and 0 if they have the
// same value.
func (d Decimal) Compare(other Decimal) int {
	if d.Scale == other.Scale {
		return cmp.Or(cmp.Compare(d.High, other.High), cmp.Compare(d.Low, other.Low))
	}
	scale := max(d.Scale, other.Scale)
	return d.atScale(scale).Cmp(other.atScale(scale))
}

// atScale returns the value times 10^scale. scale must not be less than d.Scale.
func (d Decimal) atScale(scale int32) *big.Int {
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale-d.Scale)), nil)
	return power.Mul(power, d.Unscaled())
}

// exactly returns the value times 10^scale. It fails if the result is not an integer.
func (d Decimal) exactly(scale int32) (*big.Int, error) {
	if d.Scale <= scale {
		return d.atScale(scale), nil
	}
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d.Scale-scale)), nil)
	unscaled, rest := power.QuoRem(d.Unscaled(), power, new(big.Int))
	if rest.Sign() != 0 {
		return unscaled, fmt.Errorf("the value %v has more than %d digits after the point", d, scale)
	}
	return unscaled, nil
}

// String returns the value with Scale digits after the point.
func (d Decimal) String() string { return d.number().ToString(d.Scale) }

// MarshalText returns what String returns.
func (d Decimal) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText sets d as ParseDecimal does.
func (d *Decimal) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDecimal(string(text))
	return err
}
