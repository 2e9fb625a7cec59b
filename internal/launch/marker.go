package launch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Marker is contained in the executable of every program that calls bobbin.Main, so that
// yarn-submit recognizes these programs. The number at its end is incremented when this package
// becomes incompatible with earlier versions.
const Marker = "bobbin/launch: this program calls bobbin.Main, contract 1"

// reversedMarker is Marker backwards. Code that searches for Marker must not contain Marker,
// because otherwise every program that can submit applications would seem to call bobbin.Main.
const reversedMarker = "1 tcartnoc ,niaM.nibbob sllac margorp siht :hcnual/nibbob"

// KeepMarker makes the linker include Marker in the programs that call it. Linkers omit unused
// constants.
//
//go:noinline
func KeepMarker() string { return Marker }

// ContainsMarker reports whether a program contains Marker.
func ContainsMarker(program io.Reader) (bool, error) {
	wanted := []byte(reversedMarker)
	slices.Reverse(wanted)
	window := make([]byte, 256<<10)
	kept := 0 // number of trailing bytes of the previous read in which Marker may begin
	for {
		n, err := io.ReadFull(program, window[kept:])
		filled := window[:kept+n]
		if bytes.Contains(filled, wanted) {
			return true, nil
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("looking for bobbin's marker: %w", err)
		}
		kept = copy(window, filled[len(filled)-len(wanted)+1:])
	}
}
