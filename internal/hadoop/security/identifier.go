package security

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/writable"
)

// Identifier is the content of an HDFS delegation token's identifier
// (AbstractDelegationTokenIdentifier.java).
type Identifier struct {
	Owner    string // the user that the token authenticates: a principal or a name
	Renewer  string // name of the user who may renew the token
	RealUser string // principal of the user who acts for Owner; "" if Owner makes the calls
	Issued   time.Time
	MaxDate  time.Time // when the token's maximum lifetime ends
}

// ParseIdentifier decodes the identifier of an HDFS delegation token.
func (t Token) ParseIdentifier() (Identifier, error) {
	i, err := t.parseIdentifier()
	if err != nil {
		return Identifier{}, fmt.Errorf("the identifier of a %s: %w", t, err)
	}
	return i, nil
}

func (t Token) parseIdentifier() (i Identifier, err error) {
	if t.Kind != KindHDFS {
		return i, fmt.Errorf("its kind is not %s", KindHDFS)
	}
	if len(t.Identifier) == 0 {
		return i, writable.ErrTruncated
	}
	if version := t.Identifier[0]; version != 0 {
		return i, fmt.Errorf("its version is %d, and only version 0 is known", version)
	}
	r := writableReader{t.Identifier[1:]}
	for _, field := range []*string{&i.Owner, &i.Renewer, &i.RealUser} {
		if *field, err = r.text(); err != nil {
			return i, err
		}
	}
	for _, field := range []*time.Time{&i.Issued, &i.MaxDate} {
		millis, err := r.vint()
		if err != nil {
			return i, err
		}
		*field = time.UnixMilli(millis)
	}
	return i, nil
}
