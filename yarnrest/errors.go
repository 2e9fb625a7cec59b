package yarnrest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Errors that errors.Is finds in the *RemoteError of a failed call.
var (
	// ErrNotFound means that the cluster does not know what was requested.
	ErrNotFound = errors.New("not found")
	// ErrForbidden means that the request is not permitted, or that the user is not
	// authenticated.
	ErrForbidden = errors.New("not permitted")
)

// RemoteError is a response that refuses the request: a Hadoop RemoteException, or another
// response with an error status.
type RemoteError struct {
	Status    int    // HTTP status
	Exception string // simple class name; "" if the response is no RemoteException
	JavaClass string // full class name, or ""
	Message   string // the whole text of the error
	URL       string // the requested URL
}

func (e *RemoteError) Error() string {
	message := e.Message
	if message == "" {
		message = http.StatusText(e.Status)
	}
	kind := ""
	if e.Exception != "" {
		kind = e.Exception + ", "
	}
	return fmt.Sprintf("%s (%sHTTP %d from %s)", message, kind, e.Status, e.URL)
}

// Is reports whether e is the target ErrNotFound or ErrForbidden. For ErrNotFound the
// exception counts rather than the status, because Hadoop's GenericExceptionHandler answers
// 404 for every IOException, and the NodeManager answers 503 for the logs of an unknown
// container.
func (e *RemoteError) Is(target error) bool {
	switch target {
	case ErrNotFound:
		return slices.Contains([]string{"NotFoundException", "FileNotFoundException", "ApplicationNotFoundException",
			"ApplicationAttemptNotFoundException", "ContainerNotFoundException"}, e.Exception) ||
			e.Status == http.StatusNotFound && e.Exception == "" ||
			e.Exception == "WebApplicationException" && (strings.Contains(e.Message, ".NotFoundException:") || e.Message == "HTTP 404 Not Found")
	case ErrForbidden:
		return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
	}
	return false
}

// standby reports whether a ResourceManager that is not active sent the response.
func (e *RemoteError) standby() bool {
	return e.Exception == "StandbyException" || e.Exception == "RetriableException"
}

// UnavailableError means that no answer came: from any ResourceManager, or from the
// NodeManager or web proxy that was asked.
type UnavailableError struct {
	Service  string // "ResourceManager", "NodeManager" or "web proxy"
	Attempts []Attempt
	Elapsed  time.Duration
	Context  error // the context's error if the context ended the search; else nil
}

// Attempt describes the tries of one address.
type Attempt struct {
	Address string
	Tries   int
	Err     error // of the last try
}

func (e *UnavailableError) Error() string {
	var b strings.Builder
	precision := time.Millisecond
	if e.Elapsed > time.Second {
		precision = 100 * time.Millisecond
	}
	fmt.Fprintf(&b, "no %s answered within %s", e.Service, e.Elapsed.Round(precision))
	if errors.Is(e.Context, context.Canceled) {
		b.WriteString(" (then canceled)")
	}
	for i, a := range e.Attempts {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(&b, "%s%s: %v", sep, a.Address, a.Err)
		if a.Tries > 1 {
			fmt.Fprintf(&b, " (%d tries)", a.Tries)
		}
	}
	return b.String()
}

// Unwrap returns the context's error, if any, and the last error of each address.
func (e *UnavailableError) Unwrap() []error {
	var errs []error
	if e.Context != nil {
		errs = append(errs, e.Context)
	}
	for _, a := range e.Attempts {
		errs = append(errs, a.Err)
	}
	return errs
}

// remoteError returns the error of a response whose status is not a success.
func remoteError(status int, url string, body []byte) *RemoteError {
	e := &RemoteError{Status: status, URL: url}
	if root, err := parseJSON(body); err == nil {
		if r := root.at("RemoteException"); r.present() {
			e.Exception, e.JavaClass, e.Message = r.at("exception").text(), r.at("javaClassName").text(), r.at("message").text()
			if e.Message == "" {
				e.Message = e.JavaClass
			}
			return e
		}
		if message := root.at("message").text(); message != "" { // Jetty's own error page
			e.Message = message
			return e
		}
	}
	e.Message = plainText(string(body))
	return e
}

var (
	htmlHidden = regexp.MustCompile(`(?is)<(style|script|head)\b.*?</(style|script|head)>`)
	htmlTag    = regexp.MustCompile(`<[^>]*>`)
)

// plainText returns the text of an error page, in one line.
func plainText(body string) string {
	if strings.Contains(body, "<") {
		body = htmlTag.ReplaceAllString(htmlHidden.ReplaceAllString(body, " "), " ")
	}
	body = strings.ToValidUTF8(strings.Join(strings.Fields(body), " "), "\uFFFD")
	if r := []rune(body); len(r) > 2000 {
		body = string(r[:2000]) + "…"
	}
	return body
}
