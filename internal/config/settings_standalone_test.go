package config

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestTimesThatCannotBeKept are refused where the settings are loaded, with the key.
func TestTimesThatCannotBeKept(t *testing.T) {
	for _, key := range []string{"worker.timeout", "deploy.reconnectTimeout", "deploy.recoveryTimeout"} {
		for _, value := range []string{"0", "1ms", "999ms"} {
			_, err := FromMap(map[string]string{key: value})
			assert.ErrorContains(t, err, key+`="`+value+`" (from the submission): want 1s or more`)
		}
		_, err := FromMap(map[string]string{key: "1s"})
		assert.NoError(t, err, key)
	}
}
