package sasl

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// DigestServer configures the server's side of a DIGEST-MD5 exchange.
type DigestServer struct {
	// Protocol/ServerID is the digest-uri that clients must send. ServerID is also the server's
	// realm.
	Protocol, ServerID string
	QOPs               []QOP                                 // qualities of protection that the server offers
	Ciphers            []string                              // ciphers that the server offers for AuthConf; default: all
	Password           func(username string) (string, error) // returns a user's password; an error fails the exchange
	Rand               io.Reader                             // source of the server's nonce; default: crypto/rand
}

// digestServer is the server's side of an exchange. The first call of Step ignores
// its argument and returns the challenge; the second handles the client's response
// and returns the rspauth.
type digestServer struct {
	config   DigestServer
	nonce    string
	complete bool
	layer    Layer
}

// NewDigestServer returns the server's side of a DIGEST-MD5 exchange.
func NewDigestServer(config DigestServer) Mechanism {
	if config.Rand == nil {
		config.Rand = rand.Reader
	}
	if len(config.Ciphers) == 0 {
		for _, name := range digestCiphers() {
			config.Ciphers = append(config.Ciphers, string(name))
		}
	}
	return &digestServer{config: config}
}

func (s *digestServer) Name() string   { return digestName }
func (s *digestServer) Complete() bool { return s.complete }
func (s *digestServer) Layer() Layer   { return s.layer }

func (s *digestServer) Step(message []byte) ([]byte, error) {
	var answer []byte
	var err error
	switch {
	case s.complete:
		err = errors.New("the exchange is over")
	case s.nonce == "":
		answer, err = s.challenge()
	default:
		answer, err = s.verify(message)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", digestName, err)
	}
	return answer, nil
}

func (s *digestServer) challenge() ([]byte, error) {
	nonce, err := newNonce(s.config.Rand)
	if err != nil {
		return nil, err
	}
	s.nonce = nonce
	qops := make([]string, len(s.config.QOPs))
	for i, qop := range s.config.QOPs {
		qops[i] = string(qop)
	}
	parts := []string{
		"realm=" + quote(s.config.ServerID),
		"nonce=" + quote(nonce),
		"qop=" + quote(strings.Join(qops, ",")),
		"charset=utf-8",
		"algorithm=md5-sess",
	}
	if slices.Contains(s.config.QOPs, AuthConf) {
		parts = append(parts, "cipher="+quote(strings.Join(s.config.Ciphers, ",")))
	}
	return []byte(strings.Join(parts, ",")), nil
}

func (s *digestServer) verify(message []byte) ([]byte, error) {
	if len(message) > maxResponse {
		return nil, fmt.Errorf("the response is longer than %d bytes", maxResponse)
	}
	directives, err := parseDirectives(message)
	if err != nil {
		return nil, fmt.Errorf("response: %w", err)
	}
	values := uniqueDirectives{"qop": string(Auth), "charset": ""}
	for _, d := range directives {
		if d.name == "qop" || d.name == "charset" {
			values[d.name] = d.value
		} else if err := values.set(d); err != nil {
			return nil, fmt.Errorf("response: %w", err)
		}
	}
	d := digest{
		username: values["username"],
		realm:    values["realm"],
		nonce:    s.nonce,
		cnonce:   values["cnonce"],
		authzid:  values["authzid"],
		uri:      s.config.Protocol + "/" + s.config.ServerID,
		qop:      QOP(values["qop"]),
	}
	for _, want := range []directive{{"nonce", s.nonce}, {"nc", firstUse}, {"digest-uri", d.uri}, {"realm", s.config.ServerID}} {
		if values[want.name] != want.value {
			return nil, fmt.Errorf("the response's %s is %q where %q is expected", want.name, values[want.name], want.value)
		}
	}
	if !slices.Contains(s.config.QOPs, d.qop) {
		return nil, fmt.Errorf("the client wants quality of protection %q where %q is offered", d.qop, s.config.QOPs)
	}
	if d.qop == AuthConf && !slices.Contains(s.config.Ciphers, values["cipher"]) {
		return nil, fmt.Errorf("the client wants cipher %q where %q is offered", values["cipher"], s.config.Ciphers)
	}
	maxBuf := defaultMaxBuf
	if text, ok := values["maxbuf"]; ok {
		if maxBuf, err = parseMaxBuf(text); err != nil {
			return nil, err
		}
	}
	if d.password, err = s.config.Password(d.username); err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare([]byte(values["response"]), []byte(d.response("AUTHENTICATE"))) != 1 {
		return nil, errors.New("the client does not know the password")
	}
	if s.layer, err = newDigestLayer(d.sessionKey(), d.qop, digestCipher(values["cipher"]), false, maxBuf); err != nil {
		return nil, err
	}
	s.complete = true
	return []byte("rspauth=" + d.response("")), nil
}
