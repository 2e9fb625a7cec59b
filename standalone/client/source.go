package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/bobbin-yarn/bobbin/client/logs"
)

// workerSource reads the logs of a process where its worker shows them.
type workerSource logPlace

func (w workerSource) List(ctx context.Context) ([]logs.FileInfo, error) {
	listed, err := logFiles(ctx, logPlace(w))
	if err != nil {
		return nil, err
	}
	files := make([]logs.FileInfo, len(listed))
	for i, file := range listed {
		files[i] = logs.FileInfo{Name: file.Name, Size: file.Size, Modified: file.Modified}
	}
	return files, nil
}

func (w workerSource) Open(ctx context.Context, name string, size, from int64) (io.ReadCloser, error) {
	if size <= from {
		return io.NopCloser(strings.NewReader("")), nil
	}
	content, err := getFrom(ctx, logPlace(w).file(name), from)
	var refusal *pageError
	if errors.As(err, &refusal) && (refusal.code == http.StatusRequestedRangeNotSatisfiable || refusal.code == http.StatusNotFound) {
		return nil, logs.ErrShorter // it was rolled after it was listed
	}
	return content, err
}
