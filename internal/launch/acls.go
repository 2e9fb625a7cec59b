package launch

import (
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// ACLs are the access lists of a container's launch context, for those who may
// see the application and those who may end it; "" where nobody is let in. YARN
// has them as "user1,user2 group1,group2", or "*" for all (AccessControlList.java
// of Hadoop 3). What the AM's container has counts for the application, what the
// first container on a node has for the containers and logs there.
func ACLs(settings *config.Config) (view, modify string) {
	viewers, modifiers := config.ACLs(settings)
	return accessList(viewers), accessList(modifiers)
}

func accessList(acl config.ACL) string {
	switch {
	case slices.Contains(acl.Users, "*"), slices.Contains(acl.Groups, "*"):
		return "*"
	case len(acl.Groups) == 0:
		return strings.Join(acl.Users, ",")
	default:
		return strings.Join(acl.Users, ",") + " " + strings.Join(acl.Groups, ",")
	}
}
