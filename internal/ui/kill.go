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

// Kill lets users kill an application from its pages.
type Kill struct {
	// User returns the user who sent a request, and reports whether this user may kill the
	// application.
	User func(r *http.Request) (user string, allowed bool)
	// Origins returns the origins (scheme://host:port) whose pages may send the request to
	// kill the application.
	Origins func() []string
	// Do starts to kill the application in the name of user, and does not wait until it has
	// ended.
	Do func(user string)
}

// maxToken limits the number of bytes that are read of a request's body. Tokens are shorter.
const maxToken = 256

func newKey() []byte {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // cannot fail
	return key
}

// token returns the secret with which a page of this server requests to kill the application.
// Pages of other servers cannot read the secret, so it proves the origin of the request.
func (p *Pages) token(user string) string {
	mac := hmac.New(sha256.New, p.key)
	mac.Write([]byte(user))
	return hex.EncodeToString(mac.Sum(nil))
}

// tokenFor returns the token of the user who sent a request. It returns "" if the user may not
// kill the application.
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

// kill handles a request to kill the application: a PUT whose body is the token. The response
// is text. The method is PUT, because browsers send a PUT from a page of another origin only
// after the server has allowed it by a CORS preflight, which this server never does.
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
