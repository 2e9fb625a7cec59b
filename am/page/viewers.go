package page

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/bobbin-yarn/bobbin/internal/access"
)

// proxyUserCookie is the cookie in which the proxy sends the user's name
// (WebAppProxyServlet.PROXY_USER_COOKIE_NAME).
const proxyUserCookie = "proxy-user"

// onlyFor returns a handler that passes the requests of viewers to next, and answers other requests
// with status 403.
func onlyFor(viewers *access.Access, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user := proxyUser(r); !viewers.Allow(r.Context(), user) {
			http.Error(w, fmt.Sprintf("the user %q may not see this application: see ui.view.acls", user), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// proxyUser returns the user name that the proxy has sent; "" for none.
func proxyUser(r *http.Request) string {
	cookie, err := r.Cookie(proxyUserCookie)
	if err != nil {
		return ""
	}
	user, err := url.QueryUnescape(cookie.Value)
	if err != nil {
		return ""
	}
	return user
}
