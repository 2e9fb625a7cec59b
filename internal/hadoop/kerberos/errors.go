package kerberos

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
)

// kdcCode matches the KDC's error code in the text of a gokrb5 error. gokrb5's errors do not
// wrap the KDC's error.
var kdcCode = regexp.MustCompile(`KRB Error: \((\d+)\)`)

// remedies are texts with the cause and the remedy of an error of the KDC, by error code.
var remedies = map[int32]string{
	errorcode.KDC_ERR_C_PRINCIPAL_UNKNOWN: "the KDC does not know the user's principal: check its name and realm",
	errorcode.KDC_ERR_S_PRINCIPAL_UNKNOWN: "the KDC does not know the service's principal: check the service's host name in Hadoop's configuration, " +
		"and domain_realm in krb5.conf",
	errorcode.KDC_ERR_PREAUTH_FAILED: "the keytab's key is not the principal's current one (the password was changed, or the keytab was made anew): " +
		"get a new keytab",
	errorcode.KRB_AP_ERR_SKEW:         "the clocks of this machine and the KDC differ by more than five minutes: set this machine's clock (NTP)",
	errorcode.KRB_AP_ERR_TKT_EXPIRED:  "the ticket has expired: run kinit",
	errorcode.KRB_AP_ERR_TKT_NYV:      "the ticket is not yet valid; the clocks of this machine and the KDC differ by more than five minutes: set this machine's clock (NTP)",
	errorcode.KDC_ERR_ETYPE_NOSUPP:    "the KDC and the client have no encryption type in common: the keytab needs an AES key",
	errorcode.KDC_ERR_CLIENT_REVOKED:  "the account is locked or has expired",
	errorcode.KDC_ERR_KEY_EXPIRED:     "the password has expired: change it with kpasswd",
	errorcode.KDC_ERR_POLICY:          "the KDC's policy forbids it",
	errorcode.KDC_ERR_WRONG_REALM:     "the principal belongs to another realm",
	errorcode.KRB_AP_ERR_MODIFIED:     "the service's keytab does not fit its key at the KDC",
	errorcode.KDC_ERR_CANNOT_POSTDATE: "the clocks of this machine and the KDC differ: set this machine's clock (NTP)",
}

// explain returns an error that wraps err, an error of gokrb5. Its text says what failed and,
// for a known cause, what to do. The parameter what is the failed action, such as "get a ticket
// for nn/host".
func (c *Client) explain(err error, what, realm string) error {
	text := err.Error()
	remedy := ""
	if match := kdcCode.FindStringSubmatch(text); match != nil {
		code, _ := strconv.ParseInt(match[1], 10, 32) // not a syntax error, because kdcCode captures only digits
		remedy = remedies[int32(code)]
	}
	switch {
	case remedy != "":
	case strings.Contains(text, "no KDCs defined"), strings.Contains(text, "no KDC SRV records"), strings.Contains(text, "lookup _kerberos"):
		remedy = fmt.Sprintf("no KDC of the realm %s is known: name one in %s, [realms] %[1]s = { kdc = host }", realm, strings.Join(c.settings.files, ", "))
	case strings.Contains(text, "skew"):
		remedy = remedies[errorcode.KRB_AP_ERR_SKEW]
	case strings.Contains(text, "error sending to a KDC"), strings.Contains(text, "communication error"), strings.Contains(text, "failed to communicate"):
		remedy = fmt.Sprintf("no KDC of the realm %s answers", realm)
	case strings.Contains(text, "matching key not found in keytab"), strings.Contains(text, "AS_REP is not valid or client password/keytab incorrect"):
		remedy = remedies[errorcode.KDC_ERR_PREAUTH_FAILED]
	}
	if remedy == "" {
		return fmt.Errorf("kerberos: cannot %s: %w", what, err)
	}
	return &explained{text: "kerberos: cannot " + what + ": " + remedy, cause: err}
}

// explained is an error whose message is the field text, followed by the KDC's part of the
// message of the field cause (see shorten).
type explained struct {
	text  string
	cause error
}

func (e *explained) Error() string { return e.text + " (" + shorten(e.cause.Error()) + ")" }
func (e *explained) Unwrap() error { return e.cause }

// unknownService reports whether err means that the KDC does not know the service's principal.
func unknownService(err error) bool {
	e, ok := errors.AsType[*explained](err)
	return ok && strings.Contains(e.cause.Error(), "KRB Error: ("+strconv.Itoa(int(errorcode.KDC_ERR_S_PRINCIPAL_UNKNOWN))+")")
}

// IsRefusal reports whether err means that a KDC refused to issue a ticket. A retry is then
// useless.
func IsRefusal(err error) bool {
	e, ok := errors.AsType[*explained](err)
	return ok && kdcCode.MatchString(e.cause.Error())
}

// shorten returns the KDC's part of the text of a gokrb5 error, or the whole text if it has no
// such part.
func shorten(text string) string {
	if at := strings.LastIndex(text, "KRB Error: "); at >= 0 {
		return "the KDC says " + text[at+len("KRB Error: "):]
	}
	return text
}
