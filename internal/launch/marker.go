package launch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Marker stands in every program that can be started as an ApplicationMaster
// and as an executor, so that a submission can tell such a program from others
// before it uploads anything. It names the contract, not a version of bobbin.
const Marker = "bobbin/launch: this program calls bobbin.Main, contract 1"

// mirrored is Marker written backwards. What looks for the marker must not
// carry it, or every tool that can submit would pass for a program that can run.
const mirrored = "1 tcartnoc ,niaM.nibbob sllac margorp siht :hcnual/nibbob"

// KeepMarker is called by bobbin.Main: a linker keeps the text of a constant
// only in programs that reach code which uses it.
//
//go:noinline
func KeepMarker() string { return Marker }

// Marked reports whether a program contains the marker. It reads to the marker
// or to the end.
func Marked(program io.Reader) (bool, error) {
	wanted := []byte(mirrored)
	slices.Reverse(wanted)
	window := make([]byte, 256<<10)
	kept := 0 // bytes of the last read that may begin a marker
	for {
		n, err := io.ReadFull(program, window[kept:])
		seen := window[:kept+n]
		if bytes.Contains(seen, wanted) {
			return true, nil
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return false, nil
		case err != nil:
			return false, fmt.Errorf("looking for bobbin's marker: %w", err)
		}
		kept = copy(window, seen[len(seen)-len(wanted)+1:])
	}
}
