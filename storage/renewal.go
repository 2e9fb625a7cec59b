package storage

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/hadoop/security"
)

const (
	// minRenewalPause and maxRenewalPause bound the pause after a failed renewal.
	minRenewalPause = time.Second
	maxRenewalPause = time.Minute
)

// Renewal obtains new delegation tokens before the previous ones expire, so that processes
// without a Kerberos ticket can use file systems for as long as an application runs. When the
// application has ended, call Cancel, unless other processes still use the tokens.
type Renewal struct {
	Files       *Files   // its user must have logged in to Kerberos
	FileSystems []string // URIs
	Principal   string   // the user's Kerberos principal, which becomes the renewer of the tokens
	Logger      *slog.Logger

	obtained []*Tokens // tokens that may be valid

	obtain func(ctx context.Context) (*Tokens, error) // set by tests to replace Obtain; nil otherwise
}

// Tokens are delegation tokens for the file systems of a Renewal.
type Tokens struct {
	Credentials *security.Credentials // tokens with the file systems' URIs as aliases
	Renew       time.Time             // when to obtain new tokens: after three quarters of the time until End
	End         time.Time             // when the first of the tokens expires
}

// Obtain requests a new token from each file system that issues tokens. It returns nil if no
// file system does. If it fails, it cancels the tokens that it has requested.
func (r *Renewal) Obtain(ctx context.Context) (_ *Tokens, err error) {
	if r.obtain != nil {
		return r.obtain(ctx)
	}
	tokens := &Tokens{Credentials: &security.Credentials{}}
	defer func() {
		if err != nil {
			_ = r.Files.CancelTokens(ctx, tokens.Credentials)
		}
	}()
	for _, uri := range r.FileSystems {
		asked := time.Now()
		token, err := r.Files.DelegationToken(ctx, uri, r.Principal)
		if err != nil {
			return nil, err
		}
		if token.IsZero() {
			continue
		}
		tokens.Credentials.SetToken(uri, token)
		identifier, err := token.ParseIdentifier()
		if err != nil {
			return nil, err
		}
		// Renew the token at once, because only this call returns the expiration time. The
		// NameNode's clock may differ from the clock of this host, so only the difference
		// between the expiration time and the time of issue is used.
		end, err := r.Files.RenewToken(ctx, uri, token)
		if err != nil {
			return nil, err
		}
		life := end.Sub(identifier.Issued)
		if tokens.End.IsZero() || asked.Add(life).Before(tokens.End) {
			tokens.Renew, tokens.End = asked.Add(life/4*3), asked.Add(life)
		}
	}
	if tokens.End.IsZero() {
		return nil, nil
	}
	r.obtained = slices.DeleteFunc(r.obtained, func(old *Tokens) bool { return time.Now().After(old.End) })
	r.obtained = append(r.obtained, tokens)
	return tokens, nil
}

// Cancel invalidates all tokens that r has obtained. It takes a few seconds at most, also if ctx
// has ended. If it fails, it logs a warning. It must not be called while Obtain or Run runs.
func (r *Renewal) Cancel(ctx context.Context) {
	var all []*security.Credentials
	for _, tokens := range r.obtained {
		all = append(all, tokens.Credentials)
	}
	if err := r.Files.CancelTokens(ctx, all...); err != nil {
		r.Logger.Warn("delegation tokens are not cancelled, and stay valid until they end", "error", err)
	}
}

// Run obtains tokens at the time current.Renew, or at once if current is nil, and calls publish
// with them. Then these tokens become the current ones, and Run repeats this until ctx ends or
// no file system issues tokens. After an error it tries again.
func (r *Renewal) Run(ctx context.Context, current *Tokens, publish func(*security.Credentials)) {
	pause := minRenewalPause
	due := time.NewTimer(0)
	defer due.Stop()
	if current != nil {
		due.Reset(time.Until(current.Renew))
	}
	for {
		select {
		case <-due.C:
		case <-ctx.Done():
			return
		}
		next, err := r.Obtain(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.logFailure(err, current, pause)
			due.Reset(pause)
			pause = min(2*pause, maxRenewalPause)
			continue
		case next == nil:
			return
		}
		current, pause = next, minRenewalPause
		r.Logger.Info("obtained new delegation tokens", "renew", current.Renew, "end", current.End)
		publish(current.Credentials)
		due.Reset(time.Until(current.Renew))
	}
}

func (r *Renewal) logFailure(err error, current *Tokens, pause time.Duration) {
	if current == nil {
		r.Logger.Warn("no new delegation tokens, trying again", "pause", pause, "error", err)
	} else if time.Now().Before(current.End) {
		r.Logger.Warn("no new delegation tokens, trying again", "pause", pause, "end", current.End, "error", err)
	} else {
		r.Logger.Error("the delegation tokens have ended, and there are no new ones; trying again", "pause", pause, "end", current.End, "error", err)
	}
}
