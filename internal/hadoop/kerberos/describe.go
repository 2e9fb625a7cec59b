package kerberos

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/keytab"
)

// Description describes a login: its configuration, KDCs, and ticket cache or keytab.
type Description struct {
	Config     []string // paths of the krb5.conf files that were read
	Realm      string   // the default realm
	KDCs       []string // the KDCs of the user's realm, as host:port
	Source     string   // the ticket cache or the keytab, with its path
	Principal  string
	Expires    time.Time // when the ticket in the ticket cache expires; zero with a keytab
	Encryption []string  // types of the ticket's or the keytab's keys, the strongest first
	KeyVersion uint32    // version of the principal's newest key in the keytab; 0 with a ticket cache
}

// Describe returns the configuration files, realm, KDCs and keys of c.
func (c *Client) Describe() (Description, error) {
	d := Description{Config: c.settings.files, Realm: c.Realm(), Principal: c.Principal(), Expires: c.Expires()}
	_, realm := splitPrincipal(d.Principal)
	if _, kdcs, err := c.settings.library.GetKDCs(realm, true); err == nil {
		for _, address := range kdcs {
			d.KDCs = append(d.KDCs, address)
		}
		slices.Sort(d.KDCs)
	}
	var types []int32
	var err error
	if c.options.Keytab != "" {
		d.Source = "the keytab " + c.options.Keytab
		types, d.KeyVersion, err = c.keytabTypes(d.Principal)
	} else {
		types, d.Source, err = c.cacheTypes(realm)
	}
	if err != nil {
		return d, err
	}
	slices.SortFunc(types, func(a, b int32) int { return cmp.Compare(strength(b), strength(a)) })
	for _, id := range slices.Compact(types) {
		d.Encryption = append(d.Encryption, encryptionName(id))
	}
	return d, nil
}

func (c *Client) keytabTypes(principal string) (types []int32, version uint32, err error) {
	content, err := os.ReadFile(c.options.Keytab)
	if err != nil {
		return nil, 0, err
	}
	keys := keytab.New()
	if err := keys.Unmarshal(content); err != nil {
		return nil, 0, err
	}
	for _, entry := range keys.Entries {
		if strings.Join(entry.Principal.Components, "/")+"@"+entry.Principal.Realm == principal {
			types, version = append(types, entry.Key.KeyType), max(version, entry.KVNO)
		}
	}
	return types, version, nil
}

func (c *Client) cacheTypes(realm string) (types []int32, source string, err error) {
	cache, path, from, err := c.settings.loadCache()
	if err != nil {
		return nil, "", err
	}
	for _, entry := range cache.GetEntries() {
		if entry.Server.PrincipalName.PrincipalNameString() == "krbtgt/"+realm {
			types = append(types, entry.Key.KeyType)
		}
	}
	return types, fmt.Sprintf("the ticket cache %s (%s)", path, from), nil
}

// encryptionName returns the name of an encryption type as klist -e prints it.
func encryptionName(id int32) string {
	names := map[int32]string{
		16: "des3-cbc-sha1", 17: "aes128-cts-hmac-sha1-96", 18: "aes256-cts-hmac-sha1-96",
		19: "aes128-cts-hmac-sha256-128", 20: "aes256-cts-hmac-sha384-192", 23: "arcfour-hmac",
	}
	if name, known := names[id]; known {
		return name
	}
	return fmt.Sprintf("type %d", id)
}
