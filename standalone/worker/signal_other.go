//go:build !linux

package worker

import "os"

var decommissionSignal os.Signal // there is none
