package page

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/bobbin-yarn/bobbin/internal/access"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

func TestViewers(t *testing.T) {
	lists := map[string]string{
		"acls.enable": "true", "ui.view.acls": "viewer", "ui.view.acls.groups": "readers", "admin.acls": "chief", "admin.acls.groups": "chiefs", "modify.acls": "ender",
	}
	with := func(key, value string) map[string]string {
		settings := map[string]string{key: value}
		for key, value := range lists {
			if _, set := settings[key]; !set {
				settings[key] = value
			}
		}
		return settings
	}
	for name, test := range map[string]struct {
		settings map[string]string
		allowed  []string
		refused  []string
	}{
		"no lists":         {nil, []string{"", "owner", "stranger"}, nil},
		"not enabled":      {with("acls.enable", "false"), []string{"", "stranger"}, nil},
		"enabled":          {map[string]string{"acls.enable": "true"}, []string{"owner"}, []string{"", "stranger", "dr.who"}},
		"lists":            {lists, []string{"owner", "viewer", "chief", "reader", "deputy"}, []string{"", "stranger", "ender", "ghost", "viewer,owner"}},
		"all users":        {with("ui.view.acls", "*"), []string{"", "stranger"}, nil},
		"any group's user": {with("ui.view.acls.groups", "*"), []string{"stranger", "ghost"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			settings, err := config.FromMap(test.settings)
			require.NoError(t, err)
			view, _ := config.ACLs(settings)
			v := access.New(settings, view, "owner")
			v.GroupsOf = func(_ context.Context, user string) ([]string, error) {
				groups, ok := map[string][]string{"reader": {"users", "readers"}, "deputy": {"chiefs"}, "stranger": {"users"}}[user]
				if !ok {
					return nil, errors.New("no such user")
				}
				return groups, nil
			}
			page := onlyFor(v, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			ask := func(user string) int {
				request := httptest.NewRequest(http.MethodGet, "/", nil)
				if user != "" {
					request.AddCookie(&http.Cookie{Name: proxyUserCookie, Value: url.QueryEscape(user)})
				}
				answer := httptest.NewRecorder()
				page.ServeHTTP(answer, request)
				return answer.Code
			}
			for _, user := range test.allowed {
				require.Equal(t, http.StatusOK, ask(user), user)
			}
			for _, user := range test.refused {
				require.Equal(t, http.StatusForbidden, ask(user), user)
			}
		})
	}
}
