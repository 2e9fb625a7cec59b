package yarnrest

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestRemoteErrors(t *testing.T) {
	const path = "GET /ws/v1/cluster/apps/application_1_0001"
	for name, test := range map[string]struct {
		answer              any
		notFound, forbidden bool
		want                RemoteError
	}{
		"Hadoop 3.4": {
			answer:   remote(404, "NotFoundException", "java.lang.Exception: app with id: application_1_0001 not found"),
			notFound: true,
			want:     RemoteError{Status: 404, Exception: "NotFoundException", JavaClass: "org.apache.NotFoundException", Message: "java.lang.Exception: app with id: application_1_0001 not found"},
		},
		"another IOException is a 404 too": {
			answer: remote(404, "AccessControlException", "denied"),
			want:   RemoteError{Status: 404, Exception: "AccessControlException", JavaClass: "org.apache.AccessControlException", Message: "denied"},
		},
		"a bad request": {
			answer: remote(400, "BadRequestException", "java.lang.Exception: Requested more memory than configured max"),
			want:   RemoteError{Status: 400, Exception: "BadRequestException", JavaClass: "org.apache.BadRequestException", Message: "java.lang.Exception: Requested more memory than configured max"},
		},
		"unavailable, but an answer": {
			answer: remote(503, "YarnRuntimeException", "boom"),
			want:   RemoteError{Status: 503, Exception: "YarnRuntimeException", JavaClass: "org.apache.YarnRuntimeException", Message: "boom"},
		},
		"forbidden as text": {
			answer:    status(403, "Unauthorized attempt to kill appid application_1_0001 by remote user eve"),
			forbidden: true,
			want:      RemoteError{Status: 403, Message: "Unauthorized attempt to kill appid application_1_0001 by remote user eve"},
		},
		"unauthenticated": {
			answer:    status(401, `<html><head><title>Error 401</title></head><body><h2>HTTP ERROR 401</h2>Authentication required</body></html>`),
			forbidden: true,
			want:      RemoteError{Status: 401, Message: "HTTP ERROR 401 Authentication required"},
		},
		"Jetty's JSON": {
			answer:   status(404, `{"servlet":"proxy","message":"Not Found","url":"/x","status":"404"}`),
			notFound: true,
			want:     RemoteError{Status: 404, Message: "Not Found"},
		},
		"nothing": {answer: status(500, ""), want: RemoteError{Status: 500}},
		"the log server's 503": {
			answer:   remote(503, "WebApplicationException", "org.apache.hadoop.yarn.webapp.NotFoundException: java.lang.Exception: Unknown container."),
			notFound: true,
			want:     RemoteError{Status: 503, Exception: "WebApplicationException", JavaClass: "org.apache.WebApplicationException", Message: "org.apache.hadoop.yarn.webapp.NotFoundException: java.lang.Exception: Unknown container."},
		},
		"a redirect to a login page": {
			answer: redirect("http://login.example/sso"),
			want:   RemoteError{Status: 302, Message: `it redirects to "http://login.example/sso", which is no ResourceManager's REST API`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, routes{path: test.answer})
			_, err := client(t, Options{}, s.URL).Application(context.Background(), "application_1_0001")
			var got *RemoteError
			if !errors.As(err, &got) {
				t.Fatalf("got %v", err)
			}
			if !strings.HasPrefix(got.URL, s.URL) {
				t.Errorf("URL %s", got.URL)
			}
			test.want.URL = got.URL
			if *got != test.want {
				t.Errorf("got %+v, want %+v", *got, test.want)
			}
			if errors.Is(err, ErrNotFound) != test.notFound || errors.Is(err, ErrForbidden) != test.forbidden {
				t.Errorf("not found %v, forbidden %v", errors.Is(err, ErrNotFound), errors.Is(err, ErrForbidden))
			}
			if !strings.Contains(err.Error(), test.want.Message) || err.Error() == "" {
				t.Errorf("the text %q loses the message", err)
			}
		})
	}
}

func TestLongErrorPagesAreCut(t *testing.T) {
	if got := plainText(strings.Repeat("é ", 5000)); len([]rune(got)) != 2001 {
		t.Errorf("%d runes", len([]rune(got)))
	}
}
