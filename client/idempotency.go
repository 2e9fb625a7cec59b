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

// Applications that were submitted with an idempotency key have it as a tag.
// The ResourceManager writes tags in lower case and takes 100 ASCII characters
// (ApplicationSubmissionContextPBImpl.java of Hadoop 3), so that a key which
// would not survive that is known by its digest.
const (
	keyTag       = "bobbin-key:"
	keyDigestTag = "bobbin-key-sha256:"
)

var plainKey = regexp.MustCompile(`^[a-z0-9._/:@+-]{1,80}$`)

// tagOf is the tag of a key; "" for none.
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

// IsKeyTag tells whether a tag of an application is that of an idempotency key.
func IsKeyTag(tag string) bool {
	return strings.HasPrefix(tag, keyTag) || strings.HasPrefix(tag, keyDigestTag)
}

// tagsOf are the tags that an application is submitted with.
func tagsOf(settings *config.Config) []string {
	tags := config.Tags.In(settings)
	if tag := tagOf(config.IdempotencyKey.In(settings)); tag != "" {
		tags = append(slices.Clone(tags), tag)
	}
	return tags
}

// sameKey finds the application that a submission with the key stands for; nil
// where there is none: the one that runs, the first one should they be several,
// else the last one that has succeeded. One that failed does not count, as who
// tries a pipeline again wants it tried again; nor one that was killed, which
// was given up, or gave way.
func (c *Cluster) sameKey(ctx context.Context, key string) (*yarnrest.Application, error) {
	all, err := c.withKey(ctx, key)
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

// withKey lists the applications of this user with a key, the first one first.
func (c *Cluster) withKey(ctx context.Context, key string) ([]yarnrest.Application, error) {
	tag := tagOf(key)
	all, err := c.rest.Applications(ctx, yarnrest.Filter{User: c.user, Tags: []string{tag}})
	if err != nil {
		return nil, Refused(fmt.Errorf("looking for an application of the same idempotency key: %w", err))
	}
	// A ResourceManager might give all where it does not know the parameter.
	all = slices.DeleteFunc(all, func(a yarnrest.Application) bool { return !slices.Contains(a.Tags, tag) || a.User != c.user })
	slices.SortFunc(all, compareStart)
	return all, nil
}

// compareStart orders applications by when the ResourceManager took them.
func compareStart(a, b yarnrest.Application) int {
	return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
}

// settleAgain is after what time a submission looks once more whether it is the
// only one of its key. The ResourceManager takes two submissions of the same
// moment at the same time, so that the later of them may not find the other at
// its first look.
const settleAgain = 250 * time.Millisecond

// settle looks, after the submission, whether another one of the same key came
// before it. It returns that one, and has killed its own then: whoever came later
// gives way, before its ApplicationMaster has started.
func (s *submission) settle(ctx context.Context, key string) (*yarnrest.Application, error) {
	for again := range 2 {
		if again > 0 && Sleep(ctx, settleAgain) != nil {
			return nil, nil // it is followed, and killed there
		}
		all, err := s.cluster.withKey(ctx, key)
		if err != nil {
			return nil, err
		}
		for i, other := range all {
			if other.ID == s.id {
				break // none before it runs
			}
			if !other.State.Ended() {
				return &all[i], s.giveWay(ctx, &all[i])
			}
		}
	}
	return nil, nil
}

func (s *submission) giveWay(ctx context.Context, other *yarnrest.Application) error {
	if err := s.cluster.rest.Kill(ctx, s.id, "gives way to "+other.ID+", which was submitted before with the same idempotency key"); err != nil {
		return Refused(fmt.Errorf("%s is to give way to %s of the same idempotency key, stop it with yarn-submit kill %[1]s: %[3]w", s.id, other.ID, err))
	}
	s.job.Console.Print("%s gives way to %s", s.id, other.ID)
	s.cleanUp(ctx)
	return nil
}

// adopt has the submission stand for an application that is there already.
func (s *submission) adopt(application *yarnrest.Application) {
	s.id, s.stager, s.adopted = application.ID, nil, application
	s.job.Console.Print("%s was submitted with the same idempotency key at %s, and is %s: following it",
		application.ID, application.Started.Format(time.DateTime), application.State)
	if s.job.Submitted != nil {
		s.job.Submitted(s.id)
	}
}
