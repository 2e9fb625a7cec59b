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

// Errors that a *RemoteError matches with errors.Is.
var (
	// ErrNotFound means that the requested object, such as an application or a container, does
	// not exist.
	ErrNotFound = errors.New("not found")
	// ErrForbidden means that the user is not authenticated, or not permitted to send the
	// request.
	ErrForbidden = errors.New("not permitted")
)

// RemoteError is the error for a response that refuses a request: a Hadoop RemoteException, or
// another response with an error status.
type RemoteError struct {
	Status    int    // HTTP status
	Exception string // simple class name of the Java exception; "" if the response is not a RemoteException
	JavaClass string // full class name of the Java exception, or ""
	Message   string // the whole text of the error
	URL       string
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

// Is reports whether e matches target, which is ErrNotFound or ErrForbidden. For ErrNotFound,
// Is checks the exception and not the HTTP status, because Hadoop's GenericExceptionHandler
// sends 404 for every IOException, and the NodeManager sends 503 for the logs of an unknown
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

// standby reports whether the response is from a ResourceManager that is not active.
func (e *RemoteError) standby() bool {
	return e.Exception == "StandbyException" || e.Exception == "RetriableException"
}

// UnavailableError means that no server answered a request: no ResourceManager, or not the
// NodeManager or web proxy to which the request was sent.
type UnavailableError struct {
	Service  string // "ResourceManager", "NodeManager" or "web proxy"
	Attempts []Attempt
	Elapsed  time.Duration
	Context  error // the context's error if the end of the context ended the call; otherwise nil
}

// Attempt describes the tries of a call at one address.
type Attempt struct {
	Address string
	Tries   int
	Err     error // error of the last try
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

// remoteError returns the error for a response with an error status.
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
		if message := root.at("message").text(); message != "" { // a JSON error page of Jetty, the Java web server
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

// plainText returns the text of an HTML error page, in one line.
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
