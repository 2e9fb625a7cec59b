package kerberos

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// Options select the user: Principal, whose key is in Keytab, or the owner of the ticket cache
// if Principal and Keytab are "". Setting only one of them is an error.
type Options struct {
	Principal string // "alice@EXAMPLE.COM", or "alice" for the default realm
	Keytab    string // path of the keytab file
	Config    string // paths of krb5.conf files, separated by colons; "" for KRB5_CONFIG, else /etc/krb5.conf
}

// Client is a login of one user to Kerberos. It is safe for concurrent use. The caller must
// call Close.
type Client struct {
	options  Options
	settings *settings

	mu        sync.Mutex
	library   *client.Client
	principal string
	expires   time.Time // when the ticket in the ticket cache expires; zero with a keytab
}

// Open logs in. With a keytab, it requests a ticket from the KDC. Otherwise it reads the ticket
// cache, and fails if the cache has no valid ticket.
func Open(ctx context.Context, options Options) (*Client, error) {
	if (options.Principal == "") != (options.Keytab == "") {
		return nil, errors.New("a principal and a keytab (kerberos.principal, kerberos.keytab) go together: set both, or neither to use the ticket cache")
	}
	settings, err := loadSettings(options.Config)
	if err != nil {
		return nil, err
	}
	c := &Client{options: options, settings: settings}
	if options.Keytab != "" {
		err = c.openKeytab(ctx)
	} else {
		err = c.openCache()
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Principal returns the user's principal, such as "alice@EXAMPLE.COM".
func (c *Client) Principal() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.principal
}

// Realm returns the default realm (default_realm in krb5.conf) or, if default_realm is not set,
// the realm of the user's principal.
func (c *Client) Realm() string {
	if realm := c.settings.library.LibDefaults.DefaultRealm; realm != "" {
		return realm
	}
	_, realm := splitPrincipal(c.Principal())
	return realm
}

// Expires returns when the ticket in the ticket cache expires. With a keytab, it returns
// the zero time.
func (c *Client) Expires() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.expires
}

// Close stops the renewal of tickets. The Client cannot be used afterwards.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.library.Destroy()
}

func splitPrincipal(principal string) (name, realm string) {
	if at := strings.LastIndexByte(principal, '@'); at >= 0 {
		return principal[:at], principal[at+1:]
	}
	return principal, ""
}

func (c *Client) openCache() error {
	cache, path, from, err := c.settings.loadCache()
	if path == "" {
		return err // cacheFile found no path for the cache's name
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no Kerberos ticket: there is no ticket cache %s (%s): run kinit, or use --principal with --keytab", path, from)
	}
	if err != nil {
		return fmt.Errorf("the ticket cache (%s): %w", from, err)
	}
	principal := cache.GetClientPrincipalName().PrincipalNameString() + "@" + cache.GetClientRealm()
	expires := time.Time{}
	for _, entry := range cache.GetEntries() {
		if entry.Server.PrincipalName.PrincipalNameString() == "krbtgt/"+cache.GetClientRealm() && entry.EndTime.After(expires) {
			expires = entry.EndTime
		}
	}
	switch {
	case expires.IsZero():
		return fmt.Errorf("no Kerberos ticket: the ticket cache %s of %s has no ticket-granting ticket: run kinit", path, principal)
	case !time.Now().Before(expires):
		return fmt.Errorf("the Kerberos ticket of %s in %s expired at %s: run kinit, or use --principal with --keytab",
			principal, path, expires.Format(time.RFC3339))
	}
	library, err := client.NewFromCCache(cache, c.settings.library, client.DisablePAFXFAST(true))
	if err != nil {
		return fmt.Errorf("the ticket cache %s: %w", path, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.library, c.principal, c.expires = library, principal, expires
	return nil
}

func (c *Client) openKeytab(ctx context.Context) error {
	content, err := os.ReadFile(c.options.Keytab)
	if err != nil {
		return fmt.Errorf("the keytab: %w", err)
	}
	keys := keytab.New()
	if err := keys.Unmarshal(content); err != nil {
		return fmt.Errorf("%s is no keytab: %w", c.options.Keytab, err)
	}
	name, realm := splitPrincipal(c.options.Principal)
	if realm == "" {
		if realm = c.settings.library.LibDefaults.DefaultRealm; realm == "" {
			return fmt.Errorf("the principal %s names no realm, and %s has no default_realm", c.options.Principal, strings.Join(c.settings.files, ", "))
		}
	}
	principal := name + "@" + realm
	enctypes, others := encryptionTypes(keys, principal)
	if len(enctypes) == 0 {
		return fmt.Errorf("the keytab %s has no key of %s that bobbin can use; it has keys of %s: see klist -ket %[1]s",
			c.options.Keytab, principal, strings.Join(others, ", "))
	}
	library := *c.settings.library
	// Request only encryption types for which the keytab has a key, so that the KDC uses one of
	// them.
	library.LibDefaults.DefaultTktEnctypeIDs = enctypes
	login := client.NewWithKeytab(name, realm, keys, &library, client.DisablePAFXFAST(true))
	if _, err := within(ctx, func() (struct{}, error) { return struct{}{}, login.Login() }); err != nil {
		return c.explain(err, "log in as "+principal+" with the keytab "+c.options.Keytab, realm)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.library, c.principal = login, principal
	return nil
}

// encryptionTypes returns the encryption types that gokrb5 supports and for which the keytab
// has a key of the principal, the strongest first. It also returns all principals in the
// keytab.
func encryptionTypes(keys *keytab.Keytab, principal string) (types []int32, principals []string) {
	for _, entry := range keys.Entries {
		owner := strings.Join(entry.Principal.Components, "/") + "@" + entry.Principal.Realm
		if !slices.Contains(principals, owner) {
			principals = append(principals, owner)
		}
		if _, err := crypto.GetEtype(entry.Key.KeyType); err == nil && owner == principal && !slices.Contains(types, entry.Key.KeyType) {
			types = append(types, entry.Key.KeyType)
		}
	}
	slices.SortFunc(types, func(a, b int32) int { return strength(b) - strength(a) })
	return types, principals
}

// strength returns a number that is larger for a stronger encryption type. It returns -1 for a
// type that gokrb5 does not support.
func strength(encryptionType int32) int {
	return slices.Index([]int32{23, 16, 17, 18, 19, 20}, encryptionType)
}

// reload reads the ticket cache again if its ticket has expired, because the user may have run
// kinit in the meantime.
func (c *Client) reload() error {
	if expires := c.Expires(); expires.IsZero() || time.Now().Before(expires) {
		return nil
	}
	return c.openCache()
}

// ticket returns a ticket for a service, such as "nn/host.example.com@REALM", and the ticket's
// session key. See NewContext for a service without a realm.
func (c *Client) ticket(ctx context.Context, service string) (ticket messages.Ticket, key types.EncryptionKey, err error) {
	if err := c.reload(); err != nil {
		return ticket, key, err
	}
	c.mu.Lock()
	library := c.library
	c.mu.Unlock()
	type serviceTicket struct {
		ticket messages.Ticket
		key    types.EncryptionKey
	}
	got, err := within(ctx, func() (got serviceTicket, err error) {
		c.mu.Lock() // gokrb5 does not lock all of its state
		defer c.mu.Unlock()
		name, realm := splitPrincipal(service)
		if realm != "" { // GetServiceTicket takes no realm
			host, realms := path.Base(name), library.Config.DomainRealm
			if configured, found := realms[host]; found {
				defer func() { realms[host] = configured }()
			} else {
				defer delete(realms, host)
			}
			realms[host] = realm
		}
		got.ticket, got.key, err = library.GetServiceTicket(name)
		return got, err
	})
	if err != nil {
		_, realm := splitPrincipal(c.Principal())
		return ticket, key, c.explain(err, "get a ticket for "+service, realm)
	}
	return got.ticket, got.key, nil
}

// within runs call, a call of gokrb5 that takes no context, and returns its result. If ctx ends
// first, within returns the cause of ctx. call then continues until one of gokrb5's timeouts,
// and its result is dropped.
func within[T any](ctx context.Context, call func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := call()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
