// Package access decides who may see or kill an application.
package access

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// groupsTimeout limits how long the look-up of a user's groups may take.
const groupsTimeout = 5 * time.Second

// Access decides which users have one right: to view an application, or to kill it. It applies
// the rules of Spark's SecurityManager.checkUIViewPermissions and checkModifyPermissions, with
// one exception: a request without a user name has the right only if all users have it.
type Access struct {
	All bool // whether all users have the right
	// GroupsOf returns a user's groups. Tests replace it.
	GroupsOf func(ctx context.Context, user string) ([]string, error)

	users, groups []string
}

// New returns an Access that gives the right to the owner and to the users and groups in list.
// It gives the right to all users if the setting "acls.enable" is false or list contains "*".
func New(settings *config.Config, list config.ACL, owner string) *Access {
	return &Access{
		All:      !config.ACLsEnable.In(settings) || slices.Contains(list.Users, "*") || slices.Contains(list.Groups, "*"),
		users:    append(list.Users, owner),
		groups:   list.Groups,
		GroupsOf: groupsOf,
	}
}

// Allow reports whether a user has the right. user is "" if the name is unknown.
func (a *Access) Allow(ctx context.Context, user string) bool {
	switch {
	case a.All:
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
	groups, err := a.GroupsOf(ctx, user)
	return err == nil && slices.ContainsFunc(groups, func(group string) bool { return slices.Contains(a.groups, group) })
}

// groupsOf returns a user's groups. It runs the command "id", as Spark's
// ShellBasedGroupsMappingProvider does, because a statically linked program cannot use the
// machine's directory services (NSS).
func groupsOf(ctx context.Context, user string) ([]string, error) {
	names, err := exec.CommandContext(ctx, "id", "-Gn", "--", user).Output()
	return strings.Fields(string(names)), err
}
