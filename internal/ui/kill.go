package ui

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"slices"
)

// Kill is how users kill an application.
type Kill struct {
	// User returns the user who sent a request, and whether the user may kill the application.
	User func(r *http.Request) (user string, allowed bool)
	// Origins returns the origins (scheme://host:port) of which a page may send the request.
	Origins func() []string
	// Do kills the application. It returns at once.
	Do func(user string)
}

// maxToken is larger than a token.
const maxToken = 256

func newKey() []byte {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	return key
}

// token returns what a user's page sends to kill the application. Other servers cannot
// read it: it proves that the page sent the request.
func (p *Pages) token(user string) string {
	mac := hmac.New(sha256.New, p.key)
	mac.Write([]byte(user))
	return hex.EncodeToString(mac.Sum(nil))
}

// tokenFor returns the token of the user who sent a request; "" if the user may not kill
// the application.
func (p *Pages) tokenFor(r *http.Request) string {
	if p.options.Kill == nil {
		return ""
	}
	user, allowed := p.options.Kill.User(r)
	if !allowed {
		return ""
	}
	return p.token(user)
}

// kill answers a PUT of a token as text. Browsers send such a request to another origin
// only after that origin has agreed, which this one never does.
func (p *Pages) kill(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int, why string) { http.Error(w, why, status) }
	kill := p.options.Kill
	if r.URL.Query().Get("action") != "kill" || kill == nil {
		refuse(http.StatusNotFound, "There is no such action.")
		return
	}
	if origin := r.Header.Get("Origin"); origin != "" && !slices.Contains(kill.Origins(), origin) {
		refuse(http.StatusForbidden, "A page of "+visible(origin)+" may not kill the application: open the page at the ResourceManager's own address.")
		return
	}
	user, allowed := kill.User(r)
	if !allowed {
		refuse(http.StatusForbidden, "You may not kill this application: see modify.acls.")
		return
	}
	token, err := io.ReadAll(io.LimitReader(r.Body, maxToken))
	if err != nil || !hmac.Equal(token, []byte(p.token(user))) {
		refuse(http.StatusForbidden, "The page is out of date: load it again.")
		return
	}
	kill.Do(user)
	write(w, http.StatusOK, "text/plain; charset=utf-8", []byte("The application is being killed.\n"))
}
