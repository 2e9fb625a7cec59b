package figures

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMedian(t *testing.T) {
	require.Equal(t, 2.0, Median([]float64{3, 1, 2}))
	require.Equal(t, 2.5, Median([]float64{4, 3, 1, 2}))
	require.Equal(t, 7.0, Median([]float64{7}))
}

func TestPrint(t *testing.T) {
	var out strings.Builder
	require.NoError(t, Print(&out, Figure{"launch/seconds", 2.4, "s"}, Figure{"launch/over-floor", 1.2, ""}))
	require.Equal(t, `{"name":"launch/seconds","value":2.4,"unit":"s"}
{"name":"launch/over-floor","value":1.2,"unit":""}
`, out.String())
}
