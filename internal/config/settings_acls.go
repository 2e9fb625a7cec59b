package config

import "slices"

// Who may look at an application and act on it, beside its user and the
// cluster's administrators.
var (
	ACLsEnable = boolean("acls.enable", "false", "Whether the lists below say who may see the application and end it, beside its own user. The application's page "+
		"asks them, for the user whom YARN's web proxy names; the cluster does where it has `yarn.acl.enable`, and always lets its administrators in.")
	viewACLs        = list("ui.view.acls", "", "Users who may see the application and its logs; `*` for all.")
	viewACLGroups   = list("ui.view.acls.groups", "", "Groups whose users may see the application and its logs; `*` for all.")
	modifyACLs      = list("modify.acls", "", "Users who may end the application; `*` for all.")
	modifyACLGroups = list("modify.acls.groups", "", "Groups whose users may end the application; `*` for all.")
	adminACLs       = list("admin.acls", "", "Users who may do both.")
	adminACLGroups  = list("admin.acls.groups", "", "Groups whose users may do both.")
)

// ACL is who has a right.
type ACL struct{ Users, Groups []string }

// ACLs are those who may see the application and those who may change it,
// empty where acls.enable is off.
func ACLs(c *Config) (view, modify ACL) {
	if !ACLsEnable.In(c) {
		return ACL{}, ACL{}
	}
	with := func(users, groups Key[[]string]) ACL {
		return ACL{Users: union(adminACLs.In(c), users.In(c)), Groups: union(adminACLGroups.In(c), groups.In(c))}
	}
	return with(viewACLs, viewACLGroups), with(modifyACLs, modifyACLGroups)
}

// ACLsWithoutEffect names keys that were set and mean nothing, as acls.enable is off.
func ACLsWithoutEffect(c *Config) []string {
	if ACLsEnable.In(c) {
		return nil
	}
	var keys []string
	for _, key := range []Key[[]string]{viewACLs, viewACLGroups, modifyACLs, modifyACLGroups, adminACLs, adminACLGroups} {
		if len(key.In(c)) > 0 {
			keys = append(keys, key.Name())
		}
	}
	return keys
}

// union keeps the order and drops repetitions.
func union(a, b []string) []string {
	var all []string
	for _, name := range slices.Concat(a, b) {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}
