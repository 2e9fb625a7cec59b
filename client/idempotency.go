package client

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrest"
)

// An application's idempotency key becomes one of its YARN tags. A tag has at most 100 ASCII
// characters, and the ResourceManager converts it to lower case (ApplicationSubmissionContextPBImpl
// of Hadoop 3). If plainKey does not match a key, the tag contains the SHA-256 of the key instead.
const (
	keyTag       = "bobbin-key:"
	keyDigestTag = "bobbin-key-sha256:"
)

var plainKey = regexp.MustCompile(`^[a-z0-9._/:@+-]{1,80}$`)

// tagOf returns the tag for an idempotency key; "" if key is "".
func tagOf(key string) string {
	switch {
	case key == "":
		return ""
	case plainKey.MatchString(key):
		return keyTag + key
	}
	digest := sha256.Sum256([]byte(key))
	return keyDigestTag + hex.EncodeToString(digest[:])
}

// IsKeyTag reports whether a tag of an application was made from an idempotency key.
func IsKeyTag(tag string) bool {
	return strings.HasPrefix(tag, keyTag) || strings.HasPrefix(tag, keyDigestTag)
}

// tagsOf returns the application's tags: the tags in the settings, and the tag of the idempotency
// key.
func tagsOf(settings *config.Config) []string {
	tags := config.Tags.In(settings)
	if tag := tagOf(config.IdempotencyKey.In(settings)); tag != "" {
		tags = append(slices.Clone(tags), tag)
	}
	return tags
}

// applicationForKey returns the existing application that replaces a new submission with the same
// key. It is the oldest running or waiting application or, if all have ended, the latest
// application that has succeeded. applicationForKey returns nil if there is none. It ignores failed
// and killed applications, so that a pipeline can retry.
func (c *Cluster) applicationForKey(ctx context.Context, key string) (*yarnrest.Application, error) {
	all, err := c.applicationsWithKey(ctx, key)
	if err != nil {
		return nil, err
	}
	var succeeded *yarnrest.Application
	for i, application := range all {
		if !application.State.Ended() {
			return &all[i], nil
		}
		if application.State == yarnrest.StateFinished && application.FinalStatus == yarnrest.StatusSucceeded {
			succeeded = &all[i]
		}
	}
	return succeeded, nil
}

// applicationsWithKey returns the user's applications with an idempotency key, the oldest first.
func (c *Cluster) applicationsWithKey(ctx context.Context, key string) ([]yarnrest.Application, error) {
	tag := tagOf(key)
	all, err := c.apps.Applications(ctx, yarnrest.Filter{User: c.user, Tags: []string{tag}})
	if err != nil {
		return nil, RefusedError(fmt.Errorf("looking for an application of the same idempotency key: %w", err))
	}
	// A ResourceManager that does not support the query parameter for tags returns all applications.
	all = slices.DeleteFunc(all, func(a yarnrest.Application) bool { return !slices.Contains(a.Tags, tag) || a.User != c.user })
	slices.SortFunc(all, compareStart)
	return all, nil
}

// compareStart orders applications by the time of their submission, and then by their ids.
func compareStart(a, b yarnrest.Application) int {
	return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
}

// secondCheckDelay is the time between the two checks of findEarlier. The second check finds a
// simultaneous submission that the first check may miss.
const secondCheckDelay = 250 * time.Millisecond

// findEarlier is called after a submission. It looks for an application with the same idempotency
// key that was submitted earlier and has not ended. If there is one, findEarlier kills the new
// application and returns the earlier one.
func (s *submission) findEarlier(ctx context.Context, key string) (*yarnrest.Application, error) {
	for again := range 2 {
		if again > 0 && Sleep(ctx, secondCheckDelay) != nil {
			return nil, nil // ctx has ended, so the method follow will kill the application
		}
		all, err := s.cluster.applicationsWithKey(ctx, key)
		if err != nil {
			return nil, err
		}
		for i, other := range all {
			if other.ID == s.id {
				break // no earlier application with the key is running
			}
			if !other.State.Ended() {
				return &all[i], s.killDuplicate(ctx, &all[i])
			}
		}
	}
	return nil, nil
}

func (s *submission) killDuplicate(ctx context.Context, other *yarnrest.Application) error {
	if err := s.cluster.killApplication(ctx, s.id, "gives way to "+other.ID+", which was submitted before with the same idempotency key"); err != nil {
		return RefusedError(fmt.Errorf("%s is to give way to %s of the same idempotency key, stop it with yarn-submit kill %[1]s: %[3]w", s.id, other.ID, err))
	}
	s.job.Console.Print("%s gives way to %s", s.id, other.ID)
	s.cleanUp(ctx)
	return nil
}

func (s *submission) followExisting(application *yarnrest.Application) {
	s.id, s.stager, s.existing = application.ID, nil, application
	s.job.Console.Print("%s was submitted with the same idempotency key at %s, and is %s: following it",
		application.ID, application.Started.Format(time.DateTime), application.State)
	if s.job.Submitted != nil {
		s.job.Submitted(s.id)
	}
}
