package shufflehandler

import (
	"crypto/hmac"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Path is the URL path of requests.
const Path = "/mapOutput"

// Application is an application whose map outputs a Handler serves.
type Application struct {
	// ID is the application's id, such as "application_1410901177871_0001". Readers set the
	// same id in Options.
	ID string
	// Password is the password with which clients sign their requests for the application.
	Password []byte
	// Locals are the application's local directories. Each output is in one of them, in the
	// subdirectory that [Directory] returns.
	Locals []string
}

// Handler serves partitions of map outputs to Clients, as a NodeManager's service does. A
// client that does not have the application's password gets status 401. Requests can read only
// files below the application's local directories, even if map ids or symbolic links refer to
// other files. The zero value serves no application. A Handler is safe for concurrent use.
type Handler struct {
	mu           sync.RWMutex
	applications map[string]Application // by the job's name in requests (see jobOf)
}

// Add adds an application whose outputs the handler serves. It replaces an application with the
// same ID.
func (h *Handler) Add(a Application) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.applications == nil {
		h.applications = map[string]Application{}
	}
	h.applications[jobOf(a.ID)] = a
}

// Remove removes the application with the given ID. The handler then refuses requests for the
// application.
func (h *Handler) Remove(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.applications, jobOf(id))
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	h.mu.RLock()
	a, known := h.applications[query.Get("job")]
	h.mu.RUnlock()
	hashed := r.Header.Get("UrlHash")
	if !known || !hmac.Equal([]byte(hashed), []byte(hashOf(algorithms[0], a.Password, localPort(r)+r.RequestURI))) {
		http.Error(w, "the job is not known, or the password is another", http.StatusUnauthorized)
		return
	}
	partition, err := strconv.ParseInt(query.Get("reduce"), 10, 32)
	if err != nil || partition < 0 {
		http.Error(w, "reduce must be the number of a partition", http.StatusBadRequest)
		return
	}
	var sections []storedSection
	var length int64
	for id := range strings.SplitSeq(query.Get("map"), ",") {
		s, err := a.find(id, partition)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		sections = append(sections, s)
		length += int64(len(s.header)) + s.length
	}
	w.Header().Set("ReplyHash", hashOf(algorithms[0], a.Password, hashed))
	w.Header().Set("Content-Length", strconv.FormatInt(length, 10))
	for _, s := range sections {
		if a.send(w, s) != nil {
			return // the reply is shorter than its Content-Length, so the connection is closed
		}
	}
}

// localPort returns the port at which a request arrived.
func localPort(r *http.Request) string {
	address, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if address == nil {
		return ""
	}
	_, port, _ := net.SplitHostPort(address.String())
	return port
}

// storedSection is the location of a map output's partition in the output's data file.
type storedSection struct {
	header         []byte // the encoded sectionHeader, which precedes the partition in the reply
	data           string // path of the data file, relative to one of Application.Locals
	offset, length int64
}

// find returns the location of a partition of the map output whose id is given.
func (a *Application) find(id string, partition int64) (storedSection, error) {
	index, err := a.open(Directory("", id) + "/" + IndexFile)
	if err != nil {
		return storedSection{}, err
	}
	defer func() { _ = index.Close() }() // an error loses no data, because the file is only read
	info, err := index.Stat()
	if err != nil {
		return storedSection{}, err
	}
	if (partition+1)*recordSize+checksumSize > info.Size() {
		return storedSection{}, fmt.Errorf("output %q has no partition %d", id, partition)
	}
	record := make([]byte, recordSize)
	if _, err := index.ReadAt(record, partition*recordSize); err != nil {
		return storedSection{}, err
	}
	offset, length := parseRecord(record)
	if offset < 0 || length < 0 {
		return storedSection{}, fmt.Errorf("partition %d of output %q: %w", partition, id, ErrDamagedIndex)
	}
	return storedSection{
		header: sectionHeader{mapID: id, length: length, partition: partition}.encode(),
		data:   Directory("", id) + "/" + DataFile, offset: offset, length: length,
	}, nil
}

// open opens a file in the first of the application's local directories that contains it. name
// is the file's path relative to that directory.
func (a *Application) open(name string) (*os.File, error) {
	err := os.ErrNotExist
	for _, local := range a.Locals {
		var file *os.File
		if file, err = os.OpenInRoot(local, name); err == nil || !errors.Is(err, os.ErrNotExist) {
			return file, err
		}
	}
	return nil, err
}

// send writes a section of a reply: the header and the partition.
func (a *Application) send(w io.Writer, s storedSection) error {
	file, err := a.open(s.data)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // an error loses no data, because the file is only read
	if _, err := file.Seek(s.offset, io.SeekStart); err != nil {
		return err
	}
	if _, err := w.Write(s.header); err != nil {
		return err
	}
	_, err = io.CopyN(w, file, s.length)
	return err
}
