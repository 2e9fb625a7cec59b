package client

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/storage"
)

// tokens obtains a delegation token for each file system that an application uses, among them those
// of uris. It returns the encoded tokens by the URI of the file system, also if it fails after it
// has obtained some. It returns nil if the cluster does not use Kerberos.
func (c *Cluster) tokens(ctx context.Context, files *storage.Files, settings *config.Config, uris ...string) (map[string]string, error) {
	if !c.identity.Secure() {
		return nil, nil
	}
	renewer := ""
	if c.identity.kerberos != nil {
		var err error
		if renewer, err = c.renewer(); err != nil {
			return nil, RefusedError(&examinableError{err})
		}
	}
	roots, err := fileSystems(files, c.hadoop, settings, uris...)
	if err != nil {
		return nil, err
	}
	tokens := map[string]string{}
	for _, root := range roots {
		token, err := files.DelegationToken(ctx, root, renewer)
		if err != nil {
			return tokens, RefusedError(&examinableError{err})
		}
		if err := c.checkRenewer(root, token); err != nil {
			return tokens, RefusedError(&examinableError{err})
		}
		if !token.IsZero() {
			tokens[root] = token.EncodeURL()
		}
	}
	return tokens, nil
}

// fileSystems returns the HDFS file systems, as hdfs://host, that an application uses: the default
// file system, those in the settings, those of its event logs, and those of uris.
func fileSystems(files *storage.Files, hadoop *conf.Config, settings *config.Config, uris ...string) ([]string, error) {
	uris = append([]string{hadoop.DefaultFS()}, uris...)
	uris = append(uris, config.KerberosFileSystems.In(settings)...)
	if config.EventLog.In(settings) {
		uris = append(uris, config.EventLogDir.In(settings), config.EventLogSparkDir.In(settings))
	}
	var roots []string
	for _, uri := range uris {
		if uri == "" {
			continue // a setting that is not set
		}
		qualified, err := files.Qualify(strings.TrimRight(uri, "/") + "/")
		if err != nil {
			return nil, UsageError(err)
		}
		scheme, rest, _ := strings.Cut(qualified, "://")
		host, _, _ := strings.Cut(rest, "/")
		if root := scheme + "://" + host; scheme == "hdfs" && !slices.Contains(roots, root) {
			roots = append(roots, root)
		}
	}
	return roots, nil
}

// cancelTokens cancels the tokens that the submission has obtained.
func (s *submission) cancelTokens(ctx context.Context) {
	if s.cluster.identity.tokens != nil {
		return // the user may use them for other applications
	}
	if err := s.stager.files.CancelTokens(ctx, decodeTokens(s.tokens)); err != nil {
		s.job.Console.Warn("delegation tokens are not cancelled, and stay valid until they end: %v", err)
	}
}

// decodeTokens returns credentials with tokens, which are encoded in a map from file systems.
func decodeTokens(encoded map[string]string) *security.Credentials {
	decoded := &security.Credentials{}
	for root, text := range encoded {
		if token, err := security.DecodeTokenURL(text); err == nil {
			decoded.SetToken(root, token)
		}
	}
	return decoded
}

// TokensUsableUntil returns the time until which executors that are started get the delegation
// tokens of the submission; see storage.TokensUsableUntil.
func (r *Running) TokensUsableUntil() time.Time {
	return storage.TokensUsableUntil(decodeTokens(r.request.tokens))
}

// checkRenewer fails if another process has obtained the token and the ResourceManager may not
// renew it. The ResourceManager would accept an application with such a token, and then fail the
// application.
func (c *Cluster) checkRenewer(root string, token security.Token) error {
	identifier, err := token.ParseIdentifier()
	if c.identity.tokens == nil || err != nil {
		return nil
	}
	principal := c.hadoop.GetDefault(managerPrincipal, "")
	_, realm, qualified := strings.Cut(principal, "@")
	if !qualified && identifier.Renewer != "" {
		return nil // the ResourceManager's principal is unknown
	}
	if c.identity.kerberos != nil {
		realm = c.identity.kerberos.Realm()
	}
	manager := "a name that is not known here"
	if qualified {
		if manager, err = userName(c.hadoop, principal, realm); err != nil || manager == identifier.Renewer {
			return err
		}
	}
	return fmt.Errorf("the delegation token of %s in the file that %s names has the renewer %q, so the ResourceManager (%s by %s and hadoop.security.auth_to_local) "+
		"may not renew it, and would fail the application: get the token with that renewer", root, security.TokenFileVariable, identifier.Renewer, manager, managerPrincipal)
}

// renewer returns the principal of the ResourceManager, which renews the application's tokens.
func (c *Cluster) renewer() (string, error) {
	service := kerberos.ServiceOf(c.identity.kerberos, c.hadoop, managerPrincipal)
	if service.Principal == "" {
		return "", fmt.Errorf("%s is not set: without it no delegation token can be got that the ResourceManager may renew; set it as in the cluster's own configuration",
			managerPrincipal)
	}
	addresses, err := c.hadoop.ResourceManagers("yarn.resourcemanager.address")
	if err != nil {
		return "", err
	}
	host, _, err := net.SplitHostPort(addresses[0])
	if err != nil {
		return "", err
	}
	return service.Name(host), nil
}

// warnOfTokenEnd prints a warning if the application may run longer than its tokens can be renewed,
// and has no keytab with which it could obtain new tokens.
func (s *submission) warnOfTokenEnd() error {
	if s.cluster.identity.keytab != "" {
		return nil
	}
	var end time.Time
	for _, encoded := range s.tokens {
		token, err := security.DecodeTokenURL(encoded)
		if err != nil {
			return err
		}
		identifier, err := token.ParseIdentifier()
		if err != nil {
			continue // the end of the token's lifetime is unknown
		}
		if end.IsZero() || identifier.MaxDate.Before(end) {
			end = identifier.MaxDate
		}
	}
	timeout := config.SubmitTimeout.In(s.job.Settings)
	if end.IsZero() || timeout > 0 && time.Now().Add(timeout).Before(end) {
		return nil
	}
	s.job.Console.Warn("the application can use HDFS until %s, when its delegation tokens end: if it may run longer, submit with --principal and --keytab",
		end.Format(time.DateTime))
	return nil
}

// keytabInput returns the keytab as a file to localize for the ApplicationMaster. needed is false
// if there is no keytab. It is also false in client mode, because then the driver in this process
// obtains new tokens.
func (s *submission) keytabInput() (file localizedFile, needed bool, err error) {
	path := s.cluster.identity.keytab
	if path == "" || config.ClientMode(s.job.Settings) {
		return localizedFile{}, false, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return localizedFile{}, false, UsageError(err)
	}
	return localizedFile{path: path, name: launch.KeytabFile, size: info.Size(), secret: true}, true, nil
}

// login returns the Kerberos login of the ApplicationMaster; nil if it has no keytab.
func (r *request) login() *launch.Login {
	if r.keytab == nil {
		return nil
	}
	return &launch.Login{Principal: r.principal, FileSystems: slices.Sorted(maps.Keys(r.tokens))}
}

// Renewal returns a Renewal for a driver in this process. It obtains new delegation tokens for the
// file systems that the application uses. If the user has not logged in with a keytab, Renewal
// returns nil.
func (r *Running) Renewal(files *storage.Files, logger *slog.Logger) *storage.Renewal {
	identity := r.submission.cluster.identity
	if identity.keytab == "" {
		return nil
	}
	return &storage.Renewal{
		Files: files, FileSystems: slices.Sorted(maps.Keys(r.request.tokens)), Principal: identity.kerberos.Principal(), Logger: logger,
	}
}
