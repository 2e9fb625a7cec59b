package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/conf"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/ipc"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/kerberos"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/security/sasl"
	"github.com/bobbin-yarn/bobbin/internal/hadoop/yarn"
	"github.com/bobbin-yarn/bobbin/storage"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// Values of Finding.Level.
const (
	LevelOK      = "ok"
	LevelWarning = "warning"
	LevelProblem = "problem"
)

// Finding is the result of one check of [RunDoctor].
type Finding struct {
	Check  string `json:"check"`            // object of the check, such as "NameNode nn1:8020"
	Level  string `json:"level"`            // LevelOK, LevelWarning or LevelProblem
	Result string `json:"found"`            // result of the check, or the cause of the problem
	Key    string `json:"key,omitempty"`    // setting of Hadoop or bobbin on which the result depends; "" for none
	Remedy string `json:"remedy,omitempty"` // advice for the user; "" if Level is LevelOK
}

const (
	// doctorTimeout limits each check.
	doctorTimeout = 10 * time.Second
	// A difference of the clocks of at least warningSkew is a warning. With Kerberos, a difference
	// of at least maxSkew is a problem, because servers then refuse tickets.
	warningSkew = 30 * time.Second
	maxSkew     = 5 * time.Minute
)

// RunDoctor checks whether this machine can submit to the cluster of its Hadoop configuration, and
// returns a finding for each check, in the order of the checks.
func RunDoctor(ctx context.Context, settings *config.Config, log *slog.Logger) []Finding {
	e := &doctorRun{settings: settings, log: log}
	var err error
	if e.hadoop, err = conf.FromEnvironment(config.Hadoop.In(settings)); err != nil {
		e.problem("configuration", err, "", "set HADOOP_CONF_DIR to the cluster's client configuration directory")
		return e.findings
	}
	e.ok("configuration", "fs.defaultFS is %s (%s)", e.hadoop.DefaultFS(), e.hadoop.Source("fs.defaultFS"))
	e.cluster, err = newCluster(e.hadoop, settings, log)
	if err != nil {
		e.problem("login", err, "hadoop.security.authentication",
			"kinit must succeed with this user or keytab and this krb5.conf, and hadoop.security.auth_to_local must know the principal")
		return e.findings
	}
	defer e.cluster.Close()
	e.login()
	e.managers(ctx)
	e.nameNodes(ctx)
	e.proxyUser()
	e.queues(ctx)
	e.fileSystem(ctx)
	return e.findings
}

// doctorRun is one run of the checks, with its findings.
type doctorRun struct {
	settings *config.Config
	hadoop   *conf.Config
	cluster  *Cluster
	log      *slog.Logger
	findings []Finding

	accepted      int   // number of daemons that have accepted the user
	impersonation error // a daemon's error that the user may not be impersonated; nil for none
}

func (e *doctorRun) ok(check, format string, args ...any) {
	e.findings = append(e.findings, Finding{Check: check, Level: LevelOK, Result: fmt.Sprintf(format, args...)})
}

func (e *doctorRun) warn(check, key, remedy, format string, args ...any) {
	e.findings = append(e.findings, Finding{Check: check, Level: LevelWarning, Result: fmt.Sprintf(format, args...), Key: key, Remedy: remedy})
}

func (e *doctorRun) problem(check string, err error, key, remedy string) {
	e.findings = append(e.findings, Finding{Check: check, Level: LevelProblem, Result: err.Error(), Key: key, Remedy: remedy})
}

// login adds findings about the user and the login to Kerberos.
func (e *doctorRun) login() {
	identity := e.cluster.identity
	switch {
	case !identity.Secure():
		e.ok("login", "the user is %s; the cluster asks for no authentication (hadoop.security.authentication)", identity.User)
		return
	case identity.kerberos == nil:
		e.ok("login", "the user is %s, by the tokens in %s; there is no Kerberos ticket", identity.User, security.TokenFileVariable)
		return
	}
	d, err := identity.kerberos.Describe()
	if err != nil {
		e.problem("login", err, "", "get a new ticket or keytab")
		return
	}
	e.ok("krb5.conf", "%s; the default realm is %s, its KDCs are %s", strings.Join(d.Config, ", "), cmp.Or(d.Realm, "not set"),
		cmp.Or(strings.Join(d.KDCs, ", "), "found by DNS"))
	found := fmt.Sprintf("%s from %s, with keys of %s", d.Principal, d.Source, strings.Join(d.Encryption, ", "))
	if d.KeyVersion != 0 {
		found += fmt.Sprintf(" (kvno %d)", d.KeyVersion)
	}
	if !d.Expires.IsZero() {
		found += ", until " + d.Expires.Format(time.DateTime)
	}
	e.ok("login", "%s; the user in YARN and HDFS is %s", found, identity.User)
	if !slices.ContainsFunc(d.Encryption, func(name string) bool { return strings.HasPrefix(name, "aes") }) {
		e.warn("login", "permitted_enctypes in krb5.conf", "get a keytab or ticket with AES keys", "no key is of an AES type, which Hadoop's servers and KDCs may refuse")
	}
	if !d.Expires.IsZero() && time.Until(d.Expires) < time.Hour {
		e.warn("login", "", "run kinit, or use --principal with --keytab", "the ticket expires at %s", d.Expires.Format(time.DateTime))
	}
}

// proxyUser adds a finding whether the ResourceManagers and the NameNodes have permitted the login
// to impersonate the user.
func (e *doctorRun) proxyUser() {
	const check = "proxy user"
	identity := e.cluster.identity
	key := "hadoop.proxyuser." + identity.real + ".users"
	remedy := "set it, and hadoop.proxyuser." + identity.real + ".hosts, in core-site.xml of the NameNodes and ResourceManagers"
	switch {
	case identity.real == "":
	case e.impersonation != nil:
		e.problem(check, e.impersonation, key, remedy)
	case e.accepted == 0:
		e.problem(check, errors.New("no daemon has answered that could permit it"), key, "see the findings about the ResourceManagers and NameNodes")
	default:
		e.ok(check, "%s acts for %s, which %d daemons permit", identity.real, identity.User, e.accepted)
	}
}

// asOnCluster is the remedy for a missing or malformed address in Hadoop's configuration.
const asOnCluster = "set it as in the cluster's own configuration"

// managers checks the ResourceManagers' RPC servers and web servers.
func (e *doctorRun) managers(ctx context.Context) {
	addresses, err := e.hadoop.ResourceManagers("yarn.resourcemanager.address")
	if err != nil {
		e.problem("ResourceManager", err, "yarn.resourcemanager.address", asOnCluster)
		return
	}
	for _, address := range addresses {
		options := ipc.Options{Protocol: yarn.ApplicationClientProtocol}
		if token, found := e.cluster.identity.managerToken(e.hadoop); found {
			options.Token = token
		}
		e.daemon(ctx, "ResourceManager "+address, address, "getClusterMetrics", managerPrincipal, options)
	}
	if addresses, err = e.hadoop.ResourceManagers("yarn.resourcemanager.webapp.address"); err != nil {
		e.problem("ResourceManager's REST API", err, "yarn.resourcemanager.webapp.address", asOnCluster)
		return
	}
	for _, address := range addresses {
		e.web(ctx, address)
	}
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	if info, err := e.cluster.rest.ClusterInfo(ctx); err != nil {
		e.problem("version", err, "yarn.resourcemanager.webapp.address", seeREST)
	} else {
		e.ok("version", "Hadoop %s, since %s", info.HadoopVersion, info.StartedOn.Format(time.DateTime))
	}
}

// nameNodes checks the RPC servers of the NameNodes of the default file system.
func (e *doctorRun) nameNodes(ctx context.Context) {
	root := e.hadoop.DefaultFS()
	if !strings.HasPrefix(root, "hdfs://") {
		e.warn("HDFS", "fs.defaultFS", "name the cluster's HDFS", "the default file system %s is not HDFS", root)
		return
	}
	addresses, err := e.hadoop.NameNodes(root)
	if err != nil {
		e.problem("NameNode", err, "dfs.namenode.rpc-address", asOnCluster)
		return
	}
	for _, address := range addresses {
		e.daemon(ctx, "NameNode "+address, address, "getServerDefaults", storage.NameNodePrincipal, ipc.Options{Protocol: storage.NameNodeProtocol})
	}
}

// daemon checks whether a Hadoop daemon answers an RPC without arguments and accepts the user.
// daemon ignores the RPC's result. key is the setting that contains the daemon's Kerberos
// principal.
func (e *doctorRun) daemon(ctx context.Context, check, address, method, key string, options ipc.Options) {
	identity, protection := e.cluster.identity, sasl.QOP("")
	options.RetryFor, options.ConnectTimeout, options.CallTimeout = -1, doctorTimeout, doctorTimeout
	options.Logger = e.log
	options.Connected = func(qop sasl.QOP) { protection = qop }
	options.User = security.UserGroup{Effective: identity.User, Real: identity.real}
	how := "without authentication"
	switch {
	case !options.Token.IsZero():
		how = "with a delegation token"
	case identity.kerberos != nil:
		options.Kerberos = kerberos.ServiceOf(identity.kerberos, e.hadoop, key)
		how = "with Kerberos"
	case identity.Secure():
		e.ok(check, "not checked: only a Kerberos ticket would authenticate this check")
		return
	default:
		options.Simple = true
	}
	client := ipc.NewClient([]string{address}, options)
	defer func() { _ = client.Close() }()
	err := client.Call(ctx, method, &emptypb.Empty{}, &emptypb.Empty{}, ipc.Idempotent())
	standby := ""
	if errors.Is(err, ipc.StandbyException) {
		standby, err = "; it is a standby", nil
	}
	if isImpersonation(err) {
		e.impersonation = err
	}
	if err != nil {
		e.problem(check, err, key, "let this machine reach the address, and a daemon of this kind run there that accepts the user")
		return
	}
	e.accepted++
	if identity.Secure() {
		how += ", protection " + string(protection)
	}
	if host, _, err := net.SplitHostPort(address); err == nil && options.Kerberos != nil {
		how += "; " + key + " for it is " + cmp.Or(options.Kerberos.Pattern, options.Kerberos.Name(host))
	}
	e.ok(check, "answers %s%s", how, standby)
}

// web checks the web server of a ResourceManager: whether it answers, whether it requires SPNEGO
// and accepts the user's ticket, and whether its clock agrees with this machine's clock.
func (e *doctorRun) web(ctx context.Context, address string) {
	check, scheme := "REST API "+address, "http://"
	if e.hadoop.HTTPSOnly() {
		scheme = "https://"
	}
	const key = "yarn.resourcemanager.webapp.address"
	transport, err := yarnrest.Transport(e.hadoop)
	if err != nil {
		e.problem(check, err, "ssl.client.truststore.location", "name a truststore that can be read, in ssl-client.xml")
		return
	}
	defer closeIdle(transport)
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	get := func(transport http.RoundTripper) (*http.Response, error) {
		sent := time.Now()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+address+"/ws/v1/cluster/info", nil)
		if err != nil {
			return nil, err
		}
		response, err := transport.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		_ = response.Body.Close()
		// Hadoop's servers send no date if they refuse a request without a ticket.
		if theirs, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			e.clock(check, theirs.Sub(sent))
		}
		return response, nil
	}
	response, err := get(transport)
	if err != nil {
		e.problem(check, err, key, "let this machine reach the address, and the ResourceManager run there; a certificate must be of an authority in ssl-client.xml's truststore")
		return
	}
	login := e.cluster.identity.kerberos
	switch asks := response.StatusCode == http.StatusUnauthorized; {
	case asks && login != nil:
		response, err := get(login.RoundTripper(transport))
		switch {
		case err != nil:
			e.problem(check, fmt.Errorf("it asks for Kerberos (SPNEGO): %w", err), key,
				"the KDC must know HTTP/<the server's host>, and this machine name the host so: see domain_realm, dns_canonicalize_hostname and rdns in krb5.conf")
		case response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden:
			e.problem(check, fmt.Errorf("it asks for Kerberos (SPNEGO), and refuses the ticket of %s with %s", login.Principal(), response.Status),
				"yarn.resourcemanager.webapp.spnego-principal", "the server's keytab must have the key of HTTP/<its host>, and its clock must be right")
		default:
			e.ok(check, "asks for Kerberos (SPNEGO), and accepts %s", login.Principal())
		}
	case asks:
		e.ok(check, "asks for Kerberos (SPNEGO)")
	case e.cluster.identity.Secure():
		e.ok(check, "answers any reader; what concerns applications goes by RPC")
	default:
		e.ok(check, "answers")
	}
}

// seeREST is the remedy if a question to the ResourceManager's REST API fails.
const seeREST = "see the findings about the REST API"

func (e *doctorRun) clock(server string, difference time.Duration) {
	size := difference.Abs().Round(time.Second)
	switch {
	case size >= maxSkew && e.cluster.identity.Secure():
		e.problem("clock", fmt.Errorf("it differs from that of %s by %v, and Kerberos permits five minutes", server, size), "", "set this machine's clock (NTP)")
	case size >= warningSkew:
		e.warn("clock", "", "set this machine's clock (NTP)", "it differs from that of %s by %v", server, size)
	default:
		e.ok("clock", "it is that of %s", server)
	}
}

// queues checks the queue to which applications would be submitted, the nodes, and the maximum size
// of a container.
func (e *doctorRun) queues(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	scheduler, err := e.cluster.rest.Scheduler(ctx)
	if err != nil {
		e.problem("queues", err, "yarn.resourcemanager.webapp.address", seeREST)
		return
	}
	queue, err := chooseQueue(scheduler, config.Queue.In(e.settings), e.settings.IsSet(config.Queue.Name()), NewConsole(io.Discard))
	if err != nil {
		e.problem("queues", err, config.Queue.Name(), "name one of the cluster's queues to which you may submit, with --queue")
	} else {
		e.ok("queues", "%s; applications go to %s", leafNames(scheduler), queue)
	}
	nodes, err := e.cluster.rest.Nodes(ctx, "RUNNING")
	switch {
	case err != nil:
		e.problem("nodes", err, "yarn.resourcemanager.webapp.address", seeREST)
	case len(nodes) == 0:
		e.warn("nodes", "", "start NodeManagers", "no node is up: applications wait")
	default:
		e.ok("nodes", "%d are up", len(nodes))
		e.nodeManagers(ctx, nodes[:min(len(nodes), platformSample)])
	}
	application, err := e.cluster.newApplication(ctx)
	if err != nil {
		e.problem("largest container", err, "yarn.resourcemanager.address", "see the findings about the ResourceManagers")
		return
	}
	largest := application.MaximumAllocation
	e.ok("largest container", "%d MiB and %d cores", largest.MemoryMB, largest.VCores)
	if err := checkSizes(e.settings, largest); err != nil {
		e.problem("largest container", err, "yarn.scheduler.maximum-allocation-mb", "ask for less memory and fewer cores")
	}
}

// nodeManagers checks whether this machine can connect to the web servers of some nodes.
func (e *doctorRun) nodeManagers(ctx context.Context, nodes []yarnrest.Node) {
	var silent []string
	var reason error
	for _, node := range nodes {
		_, err := e.cluster.nodePlatform(ctx, node)
		var refusal *yarnrest.RemoteError
		if err != nil && !errors.As(err, &refusal) {
			silent, reason = append(silent, node.HTTPAddress), err
		}
	}
	if len(silent) > 0 {
		e.warn("NodeManagers", "yarn.nodemanager.webapp.address", "let this machine reach these ports: yarn-submit logs reads running containers' logs there",
			"%d of %d asked do not answer (%s): %v", len(silent), len(nodes), strings.Join(silent, ", "), reason)
		return
	}
	e.ok("NodeManagers", "the web servers of the %d asked answer", len(nodes))
}
