package shufflehandler

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// keep writes a map output whose partition i has the text texts[i].
func keep(t *testing.T, local, mapID string, texts ...string) {
	t.Helper()
	offsets := []int64{0}
	for i, text := range texts {
		offsets = append(offsets, offsets[i]+int64(len(text)))
	}
	directory := Directory(local, mapID)
	require.NoError(t, os.MkdirAll(directory, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(directory, DataFile), []byte(strings.Join(texts, "")), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(directory, IndexFile), AppendIndex(nil, offsets), 0o600))
}

func TestHandlerServesWhoKnowsThePassword(t *testing.T) {
	const other = "app-20300101-0002"
	parent := t.TempDir()
	one, two, secret := filepath.Join(parent, "one"), filepath.Join(parent, "two"), filepath.Join(parent, "secret")
	texts := slices.Repeat([]string{""}, 8)
	texts[7] = "seven"
	for i, id := range []string{"a", "b"} {
		keep(t, []string{one, two}[i], id, texts...)
	}
	keep(t, secret, "hidden", texts...)
	keep(t, one, "short", "0")
	keep(t, one, "damaged", texts...)
	keep(t, one, "truncated", texts...)
	keep(t, one, "without", texts...)
	require.NoError(t, os.WriteFile(filepath.Join(Directory(one, "damaged"), IndexFile), []byte(strings.Repeat("\xff", 8*recordSize+checksumSize)), 0o600))
	require.NoError(t, os.Truncate(filepath.Join(Directory(one, "truncated"), DataFile), 3))
	require.NoError(t, os.Remove(filepath.Join(Directory(one, "without"), DataFile)))
	require.NoError(t, os.Symlink(Directory(secret, "hidden"), Directory(one, "link")))

	h := &Handler{}
	h.Add(Application{ID: application, Password: []byte("secret"), Locals: []string{one, two}})
	h.Add(Application{ID: other, Password: []byte("its own"), Locals: []string{secret}})
	server := httptest.NewServer(h)
	defer server.Close()
	address := server.Listener.Addr().String()

	for _, test := range []struct {
		name, application, password string
		ids                         []string
		got                         []string
		is                          error
		status                      int
	}{
		{name: "two outputs", ids: []string{"b", "a"}, got: []string{"seven", "seven"}},
		{name: "another application", application: other, password: "its own", ids: []string{"hidden"}, got: []string{"seven"}},
		{name: "another password", password: "guess", ids: []string{"a"}, status: http.StatusUnauthorized},
		{name: "the password of another application", password: "its own", ids: []string{"a"}, status: http.StatusUnauthorized},
		{name: "an application that is not known", application: "app-3", ids: []string{"a"}, status: http.StatusUnauthorized},
		{name: "an output of another application", ids: []string{"hidden"}, status: 500},
		{name: "a path", ids: []string{"../../secret/output/hidden"}, status: 500},
		{name: "an absolute path", ids: []string{Directory(secret, "hidden")}, status: 500},
		{name: "a link", ids: []string{"link"}, status: 500},
		{name: "no name", ids: []string{""}, status: 500},
		{name: "one of two is missing", ids: []string{"a", "c"}, status: 500},
		{name: "no such partition", ids: []string{"short"}, status: 500},
		{name: "a damaged index", ids: []string{"damaged"}, status: 500},
		{name: "the data file ends early", ids: []string{"a", "truncated"}, got: []string{"seven"}, is: ErrUnreachable},
		{name: "the data file is gone", ids: []string{"a", "without"}, got: []string{"seven"}, is: ErrUnreachable},
	} {
		t.Run(test.name, func(t *testing.T) {
			options := Options{Application: application, Password: []byte("secret")}
			if test.application != "" {
				options.Application = test.application
			}
			if test.password != "" {
				options.Password = []byte(test.password)
			}
			got, err := fetchAll(t.Context(), NewClient(options), address, test.ids...)
			require.Equal(t, test.got, got)
			switch {
			case test.status != 0:
				var status *StatusError
				require.ErrorAs(t, err, &status)
				require.Equal(t, test.status, status.Code, status.Message)
			case test.is != nil:
				require.ErrorIs(t, err, test.is)
			default:
				require.NoError(t, err)
			}
		})
	}

	client := NewClient(Options{Application: application, Password: []byte("secret")})
	for _, reduce := range []string{"", "x", "-1", fmt.Sprint(uint64(1) << 40)} {
		_, err := client.requestHashed(t.Context(), address, Path+"?job="+client.job+"&reduce="+reduce+"&map=a", algorithms[0])
		var status *StatusError
		require.ErrorAs(t, err, &status, reduce)
		require.Equal(t, http.StatusBadRequest, status.Code)
	}
	h.Remove(application)
	_, err := fetchAll(t.Context(), client, address, "a")
	require.ErrorContains(t, err, "status 401")
}
