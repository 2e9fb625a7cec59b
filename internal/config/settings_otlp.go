package config

import (
	"errors"
	"fmt"
	"net/textproto"
	"net/url"
	"regexp"
	"strings"
)

// What the driver pushes to an OpenTelemetry collector, and to which collector.
var (
	OTLPEndpoint = define("otlp.endpoint", "", "text", "The base URL of an OpenTelemetry collector, such as `http://collector:4318`, that the driver's host reaches. The driver pushes its "+
		"metrics there (OTLP over HTTP, `/v1/metrics`) and, when the application has ended, its trace (`/v1/traces`). If it is not set, nothing is pushed.",
		func(s string) (string, error) {
			base, err := url.Parse(s)
			if s != "" && (err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "") {
				return "", errors.New("want a URL such as http://collector:4318")
			}
			return s, nil
		})
	OTLPHeaders = define("otlp.headers", "", "list", "Headers of these requests, `name=value,…`, such as a collector's key. Set them in the environment (`BOBBIN_OTLP_HEADERS`), where other users cannot read them.",
		func(s string) (map[string]string, error) {
			headers := map[string]string{}
			for item := range strings.SplitSeq(s, ",") {
				if strings.TrimSpace(item) == "" {
					continue
				}
				name, value, ok := strings.Cut(item, "=")
				name, value = strings.TrimSpace(name), strings.TrimSpace(value)
				if !ok || !headerName.MatchString(name) || strings.ContainsAny(value, "\r\n\x00") {
					return nil, errors.New("want name=value, …")
				}
				headers[textproto.CanonicalMIMEHeaderKey(name)] = value
			}
			return headers, nil
		})
	OTLPInterval = interval("otlp.interval", "15s", "The time between two pushes of metrics. When the application ends, its last metrics are pushed in any case.")
	TraceParent  = define(traceParentKey, "", "text", "The span that the application belongs to, as a `traceparent` (W3C Trace Context). If it is not set, `TRACEPARENT` in the environment of the submission. "+
		"Tasks and the processes that they start find their own in `TRACEPARENT`.",
		func(s string) (string, error) {
			if s != "" && !traceParent.MatchString(s) {
				return "", fmt.Errorf("want a traceparent: 00-<32 hexadecimal digits>-<16>-<2>")
			}
			return s, nil
		})
)

const (
	traceParentKey = "otlp.traceParent"
	// traceParentVariable is an environment variable that also sets traceParentKey. The
	// variable BOBBIN_OTLP_TRACE_PARENT and the command line override it.
	traceParentVariable = "TRACEPARENT"
)

var (
	traceParent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$`)
	headerName  = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
)
