package sasl

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// DigestClient configures the client's side of a DIGEST-MD5 exchange.
type DigestClient struct {
	Username, Password string
	// Protocol and ServerID identify the server: the digest-uri is Protocol/ServerID.
	// Hadoop's servers send both in the SASL negotiation.
	Protocol, ServerID string
	QOPs               []QOP     // acceptable qualities of protection, the preferred one first
	Rand               io.Reader // source of the client's nonce; default: crypto/rand
}

// digestClient is the client's side of an exchange. It replies to the server's first message,
// the challenge, but not to the server's last message, the rspauth.
type digestClient struct {
	config     DigestClient
	digest     digest
	cipher     digestCipher
	peerMaxBuf int // largest wrapped piece in bytes that the server accepts
	responded  bool
	complete   bool
	layer      Layer
}

// NewDigestClient returns the client's side of a DIGEST-MD5 exchange.
func NewDigestClient(config DigestClient) Mechanism {
	if config.Rand == nil {
		config.Rand = rand.Reader
	}
	return &digestClient{config: config}
}

func (c *digestClient) Name() string   { return digestName }
func (c *digestClient) Complete() bool { return c.complete }
func (c *digestClient) Layer() Layer   { return c.layer }

func (c *digestClient) Step(message []byte) ([]byte, error) {
	var answer []byte
	var err error
	switch {
	case c.complete:
		err = errors.New("the exchange is over")
	case c.responded:
		err = c.finish(message)
	default:
		answer, err = c.respond(message)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", digestName, err)
	}
	return answer, nil
}

// digestChallenge is the server's first message, decoded.
type digestChallenge struct {
	realms  []string
	nonce   string
	qops    []string
	ciphers []string
	maxBuf  int
	utf8    bool
}

func parseChallenge(message []byte) (digestChallenge, error) {
	challenge := digestChallenge{maxBuf: defaultMaxBuf, qops: []string{string(Auth)}}
	if len(message) > maxChallenge {
		return challenge, fmt.Errorf("the challenge is longer than %d bytes", maxChallenge)
	}
	directives, err := parseDirectives(message)
	if err != nil {
		return challenge, fmt.Errorf("challenge: %w", err)
	}
	values := uniqueDirectives{}
	for _, d := range directives {
		if d.name == "realm" {
			challenge.realms = append(challenge.realms, d.value)
		} else if err := values.set(d); err != nil {
			return challenge, fmt.Errorf("challenge: %w", err)
		}
	}
	if challenge.nonce = values["nonce"]; challenge.nonce == "" {
		return challenge, errors.New("the challenge has no nonce")
	}
	if algorithm := values["algorithm"]; algorithm != "md5-sess" {
		return challenge, fmt.Errorf("the challenge's algorithm is %q where only md5-sess exists", algorithm)
	}
	if charset, ok := values["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return challenge, fmt.Errorf("the challenge's charset is %q where only utf-8 exists", charset)
	} else if ok {
		challenge.utf8 = true
	}
	if qops, ok := values["qop"]; ok {
		challenge.qops = splitList(qops)
	}
	challenge.ciphers = splitList(values["cipher"])
	if text, ok := values["maxbuf"]; ok {
		if challenge.maxBuf, err = parseMaxBuf(text); err != nil {
			return challenge, fmt.Errorf("challenge: %w", err)
		}
	}
	return challenge, nil
}

func parseMaxBuf(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n > maxMaxBuf {
		return 0, fmt.Errorf("maxbuf %q is no number up to %d", text, maxMaxBuf)
	}
	return int(n), nil
}

func (c *digestClient) respond(message []byte) ([]byte, error) {
	challenge, err := parseChallenge(message)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(c.config.QOPs, func(q QOP) bool { return slices.Contains(challenge.qops, string(q)) })
	if at < 0 {
		return nil, fmt.Errorf("the server offers quality of protection %q where %q is wanted (hadoop.rpc.protection)", challenge.qops, c.config.QOPs)
	}
	c.peerMaxBuf = challenge.maxBuf
	c.digest = digest{
		username: c.config.Username,
		password: c.config.Password,
		nonce:    challenge.nonce,
		uri:      c.config.Protocol + "/" + c.config.ServerID,
		qop:      c.config.QOPs[at],
	}
	if len(challenge.realms) > 0 {
		c.digest.realm = challenge.realms[0]
	}
	if c.digest.qop == AuthConf {
		if c.cipher, err = pickCipher(challenge.ciphers); err != nil {
			return nil, err
		}
	}
	if c.digest.cnonce, err = newNonce(c.config.Rand); err != nil {
		return nil, err
	}
	c.responded = true
	return c.response(challenge), nil
}

// response encodes the client's response, with its directives in Java's order.
func (c *digestClient) response(challenge digestChallenge) []byte {
	var parts []string
	if challenge.utf8 {
		parts = append(parts, "charset=utf-8")
	}
	parts = append(parts, "username="+quote(c.digest.username))
	if len(challenge.realms) > 0 {
		parts = append(parts, "realm="+quote(c.digest.realm))
	}
	parts = append(parts,
		"nonce="+quote(c.digest.nonce),
		"nc="+firstUse,
		"cnonce="+quote(c.digest.cnonce),
		"digest-uri="+quote(c.digest.uri),
		"maxbuf="+strconv.Itoa(defaultMaxBuf),
		"response="+c.digest.response("AUTHENTICATE"),
		"qop="+string(c.digest.qop),
	)
	if c.cipher != "" {
		parts = append(parts, "cipher="+quote(string(c.cipher)))
	}
	return []byte(strings.Join(parts, ","))
}

// finish verifies the server's rspauth, which proves that the server knows the password.
func (c *digestClient) finish(message []byte) error {
	directives, err := parseDirectives(message)
	if err != nil {
		return fmt.Errorf("server's last message: %w", err)
	}
	for _, d := range directives {
		if d.name != "rspauth" {
			continue
		}
		if subtle.ConstantTimeCompare([]byte(d.value), []byte(c.digest.response(""))) != 1 {
			return errors.New("the server does not know the password: its rspauth is wrong")
		}
		c.layer, err = newDigestLayer(c.digest.sessionKey(), c.digest.qop, c.cipher, true, c.peerMaxBuf)
		c.complete = err == nil
		return err
	}
	return errors.New("the server's last message has no rspauth")
}
