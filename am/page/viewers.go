package page

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// proxyUserCookie has the user's name (WebAppProxyServlet.PROXY_USER_COOKIE_NAME).
const proxyUserCookie = "proxy-user"

// groupsTimeout bounds the look-up of a user's groups.
const groupsTimeout = 5 * time.Second

// access decides which users have a right, like Spark's
// SecurityManager.checkUIViewPermissions and checkModifyPermissions. Requests without a
// user name have the right only if all users do.
type access struct {
	all      bool
	users    []string
	groups   []string
	groupsOf func(ctx context.Context, user string) ([]string, error)
}

// newAccess gives the right to the owner and those in the list, or to all users if
// acls.enable is false.
func newAccess(settings *config.Config, list config.ACL, owner string) *access {
	return &access{
		all:      !config.ACLsEnable.In(settings) || slices.Contains(list.Users, "*") || slices.Contains(list.Groups, "*"),
		users:    append(list.Users, owner),
		groups:   list.Groups,
		groupsOf: groupsOf,
	}
}

// before returns a handler that passes admitted users' requests to next, and answers
// others with 403.
func (a *access) before(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user := proxyUser(r); !a.allow(r.Context(), user) {
			http.Error(w, fmt.Sprintf("the user %q may not see this application: see ui.view.acls", user), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (a *access) allow(ctx context.Context, user string) bool {
	switch {
	case a.all:
		return true
	case user == "":
		return false
	case slices.Contains(a.users, user):
		return true
	case len(a.groups) == 0:
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, groupsTimeout)
	defer cancel()
	groups, err := a.groupsOf(ctx, user)
	return err == nil && slices.ContainsFunc(groups, func(group string) bool { return slices.Contains(a.groups, group) })
}

// proxyUser returns the user name that the proxy sent, "" for none.
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

// groupsOf returns a user's groups. It runs the command id, as Spark's
// ShellBasedGroupsMappingProvider does: a static program cannot use the machine's
// directory services (NSS).
func groupsOf(ctx context.Context, user string) ([]string, error) {
	names, err := exec.CommandContext(ctx, "id", "-Gn", "--", user).Output()
	return strings.Fields(string(names)), err
}
