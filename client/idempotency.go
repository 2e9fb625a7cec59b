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

// An application's idempotency key becomes one of its tags. The ResourceManager accepts tags
// of at most 100 ASCII characters and converts them to lower case
// (ApplicationSubmissionContextPBImpl of Hadoop 3). For a key that plainKey does not match,
// the tag has the key's SHA-256 instead.
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

// IsKeyTag reports whether an application's tag stands for an idempotency key.
func IsKeyTag(tag string) bool {
	return strings.HasPrefix(tag, keyTag) || strings.HasPrefix(tag, keyDigestTag)
}

// tagsOf returns the application's tags: those of the settings, and the idempotency key's.
func tagsOf(settings *config.Config) []string {
	tags := config.Tags.In(settings)
	if tag := tagOf(config.IdempotencyKey.In(settings)); tag != "" {
		tags = append(slices.Clone(tags), tag)
	}
	return tags
}

// applicationForKey returns the application with the key that a new submission must follow.
// This is the oldest application that has not ended or, if all have ended, the latest that
// has succeeded. It is nil if there is neither. Failed and killed applications are ignored,
// so that a pipeline can retry.
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

// applicationsWithKey lists the user's applications with a key, the oldest first.
func (c *Cluster) applicationsWithKey(ctx context.Context, key string) ([]yarnrest.Application, error) {
	tag := tagOf(key)
	all, err := c.apps.Applications(ctx, yarnrest.Filter{User: c.user, Tags: []string{tag}})
	if err != nil {
		return nil, RefusedError(fmt.Errorf("looking for an application of the same idempotency key: %w", err))
	}
	// A ResourceManager that ignores the query parameter returns all applications.
	all = slices.DeleteFunc(all, func(a yarnrest.Application) bool { return !slices.Contains(a.Tags, tag) || a.User != c.user })
	slices.SortFunc(all, compareStart)
	return all, nil
}

// compareStart orders applications by the time of their submission, then by id.
func compareStart(a, b yarnrest.Application) int {
	return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
}

// secondCheckDelay is the time between the two checks of findEarlier. There are two because
// the first may miss a simultaneous submission.
const secondCheckDelay = 250 * time.Millisecond

// findEarlier looks, after the submission, for an application with the same key that was
// submitted before and has not ended. If there is one, findEarlier kills the new application
// and returns the older one.
func (s *submission) findEarlier(ctx context.Context, key string) (*yarnrest.Application, error) {
	for again := range 2 {
		if again > 0 && Sleep(ctx, secondCheckDelay) != nil {
			return nil, nil // ctx has ended, so follow kills the application
		}
		all, err := s.cluster.applicationsWithKey(ctx, key)
		if err != nil {
			return nil, err
		}
		for i, other := range all {
			if other.ID == s.id {
				break // no older application with the key is running
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
