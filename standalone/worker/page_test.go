package worker

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPagesHaveAPolicyAndNothingInline(t *testing.T) {
	directory := &workDirectory{path: t.TempDir()}
	require.NoError(t, os.MkdirAll(directory.processDirectory("app-1", "1").part(logsPart), 0o700))
	pages := routes(directory, func(context.Context) (Status, error) { return Status{Host: "<script>"}, nil })
	for path, content := range map[string]string{"/": "&lt;script&gt;", "/logs/app-1/1": "Logs of app-1/1", "/style.css": "font:", "/none": "not found"} {
		answer := httptest.NewRecorder()
		pages.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		require.Contains(t, answer.Header().Get("Content-Security-Policy"), "default-src 'none'; style-src 'self'; script-src 'self'", path)
		shown := answer.Body.String()
		require.Contains(t, shown, content, path)
		require.NotRegexp(t, `(?i)<style|<script|\s(style|on\w+)=`, shown, path)
		if content != "font:" && answer.Code == http.StatusOK {
			require.Contains(t, shown, `<link rel="stylesheet" href="/style.css">`, path)
		}
	}
}
