package recovery_test

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/standalone/recovery"
	"github.com/bobbin-yarn/bobbin/standalone/recovery/recoverytest"
)

func TestMemory(t *testing.T) {
	recoverytest.Run(t, func(t *testing.T) recoverytest.Store {
		return recoverytest.Store{Open: func() (recovery.Backend, error) { return recovery.Memory(), nil }}
	})
}
