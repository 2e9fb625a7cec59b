package recovery_test

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/standalone/recovery"
	"github.com/bobbin-yarn/bobbin/standalone/recovery/recoverytest"
)

func TestMemory(t *testing.T) {
	recoverytest.Run(t, func(t *testing.T) recoverytest.Place {
		return recoverytest.Place{Open: func() (recovery.Backend, error) { return recovery.Memory(), nil }}
	})
}
