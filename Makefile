# bobbin's tasks. `make demo` shows it, `make test` checks it.

GO ?= go
# Programs for the cluster are static: they need nothing of the node they run on. Tests and checks compile in the same way,
# so that each package is compiled once. Only the race detector needs another way.
export CGO_ENABLED = 0
export GOFLAGS := -trimpath $(GOFLAGS)
BUILD = $(GO) build -ldflags="-s -w -X main.version=$(VERSION)"
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

.PHONY: all build release test check unit race integration integration-with-engine integration-kerberos integration-clusters integration-release interop demo generate pictures check-generated bench-launch bench-tasks bench-data bench-stream bench-scale bench-allocator bench-history clean

all: build

build:
	@mkdir -p bin
	$(BUILD) -o bin/ ./cmd/yarn-submit ./examples/...

# Writes what is published of yarn-submit into dist/: archives, Debian packages, container images, bills of materials,
# checksums. A commit gives the same bytes on every machine; RELEASE_FLAGS=-dirty includes uncommitted changes.
release:
	rm -rf dist
	$(GO) run ./internal/release -o dist $(RELEASE_FLAGS)

# Counts the words of a real text on a real Hadoop cluster on this machine.
demo: build
	$(GO) run ./integration/cmd/demo

test: check unit integration

check:
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not formatted, run gofmt -w:" $$unformatted; exit 1; fi
	$(GO) vet -tags integration,kerberos,spark,release ./...
	$(GO) tool staticcheck -tags integration,kerberos,spark,release ./...
	GOOS=darwin GOARCH=arm64 $(GO) vet . ./client/... ./cmd/... ./examples/...

# check does the vetting, and no test needs debug information.
TEST = $(GO) test -vet=off -ldflags="-s -w"

# Three packages run at a time, because the tests of some wait.
UNIT = $(TEST) -p 3 -timeout 30m
unit:
	$(UNIT) ./...

# The unit tests with the race detector, which takes twice their time. By default each of some hundred processes of the
# tests sleeps for a second before it exits.
race:
	CGO_ENABLED=1 GORACE="atexit_sleep_ms=50 $$GORACE" $(UNIT) -race ./...

# Runs against real Hadoop clusters that the tests start. Needs Java 17 and Maven, and for clusters in containers root and
# Docker; with-engine starts an engine if none runs. Two packages run at a time, the longest first.
integration:
	docker/with-engine $(MAKE) integration-with-engine

integration-with-engine: build docker-image
	$(TEST) -tags integration -count=1 -p 2 -timeout 45m \
		./integration/acceptance ./integration/faults ./integration/standalone ./integration/conformance \
		./integration/masters ./integration/...

# Tests on clusters with Kerberos. They wait for tokens to end. Needs what integration needs, a KDC and the JDK.
integration-kerberos:
	docker/with-engine sh -ec 'make docker-image; $(TEST) -tags kerberos -count=1 -p 2 -timeout 45m ./integration/kerberos/...'

# Tests on other Hadoop releases and schedulers than the default cluster's.
CLUSTERS = 3.3.6/capacity 3.5.0/capacity 3.4.3/fair
CLUSTERS_RUN = WordCount|Kill|Losses|Logs|ShuffleService
integration-clusters: build
	@failed=; for each in $(CLUSTERS); do echo "on Hadoop $$each"; \
		BOBBIN_TEST_HADOOP_VERSION=$${each%/*} BOBBIN_TEST_SCHEDULER=$${each#*/} $(TEST) -tags integration -count=1 -timeout 45m \
			./integration/acceptance -run '$(CLUSTERS_RUN)' || failed="$$failed $$each"; \
	done; [ -z "$$failed" ] || { echo "failed on Hadoop$$failed"; exit 1; }

# Builds a release twice, the second time with nothing compiled before, and uses its files as users do.
integration-release:
	docker/with-engine $(TEST) -tags release -count=1 -timeout 45m ./integration/release

# Lets Spark read files that data sets have saved, and its history server exported event logs. Installs pyspark from PyPI into a directory of its own if it is missing.
interop:
	$(TEST) -tags integration,spark -count=1 -timeout 45m -v -run Spark ./integration/formats

# What users meet first, on a cluster of containers. Needs Docker, the image of docker-image, and root. CONTAINERS_RUN=.
# runs all acceptance tests there; those that stop tasks of data sets fail, because they need a directory that all hosts see.
CONTAINERS_RUN = WordCount|SortOf|Submit|TestRun|Files|Kill|ClientMode|TestFirstResource|Unreach|TestAJobThatWaits|Home|ItsUser|Bypass|Doctor
integration-containers: build
	$(TEST) -tags integration -count=1 -timeout 45m ./integration/acceptance -cluster=containers -run '$(CONTAINERS_RUN)'

# Writes generated code and pages.
generate:
	$(GO) run ./internal/protogen
	$(GO) run ./internal/configdoc > docs/configuration.md
	$(GO) generate ./jobfile

# Makes docs/pictures: the pages of a made-up application. Needs Chromium.
pictures:
	$(GO) run ./integration/cmd/pictures

check-generated: generate
	git diff --exit-code -- '*.pb.go' docs/configuration.md jobfile/job.schema.json

# The time from the start of yarn-submit until both executors have registered, beside the minimum that the cluster needs.
# Prints only JSON objects on stdout, one a line.
bench-launch:
	@$(MAKE) --silent --no-print-directory build >&2
	@$(GO) run ./bench/launch

# Empty tasks a second on a real cluster, beside Spark's. Installs pyspark from PyPI into a directory of its own if it is
# missing. Prints JSON as bench-launch does, and so does bench-scale. BENCH_TASKS="-spark=false -viewers 50" measures what
# people who watch and an event log cost.
bench-tasks:
	@$(MAKE) --silent --no-print-directory build >&2
	@$(GO) run ./bench/tasks $(BENCH_TASKS)

# Word count, sort, join, PageRank, TeraSort and queries of TPC-H as data sets on a real cluster, beside Spark's, and the
# first four beside a program that does them in memory. Takes an hour; BENCH_DATA="-megabytes 64 -only sort -spark=false"
# takes less.
bench-data:
	@$(MAKE) --silent --no-print-directory build >&2
	@$(GO) run ./bench/data $(BENCH_DATA)

# A word count with scripts, by yarn-submit stream and by Hadoop Streaming, on the same real cluster.
bench-stream:
	@$(MAKE) --silent --no-print-directory build >&2
	@$(GO) run ./bench/stream $(BENCH_STREAM)

# A driver with 10,000 executors, simulated on loopback.
bench-scale:
	@$(GO) run ./bench/scale

# An ApplicationMaster that gets and launches up to 10,000 containers of a simulated cluster of 2,000 nodes.
bench-allocator:
	@$(GO) run ./bench/allocator

# yarn-submit history of a million tasks, beside Spark's history server with a log of the same tasks.
bench-history:
	@$(MAKE) --silent --no-print-directory build >&2
	@$(GO) run ./bench/history

clean:
	rm -rf bin

# A real Hadoop cluster on this machine; needs Java 17 and Maven.
CLUSTER_DIR ?= .cluster
CLUSTER = $(GO) run ./integration/cmd/cluster -dir $(CLUSTER_DIR) $(if $(HADOOP_VERSION),-hadoop $(HADOOP_VERSION)) \
	$(if $(KERBEROS),-kerberos) $(if $(SPNEGO),-spnego)

.PHONY: cluster-up cluster-down cluster-status

# Prints the lines that point a shell to the cluster: eval "$$(make cluster-up)". With KERBEROS=1 it is a secure one, and with
# SPNEGO=1 its web servers ask for Kerberos, too.
cluster-up:
	@$(CLUSTER) up

cluster-down:
	@$(CLUSTER) down

cluster-status:
	@$(CLUSTER) status

# The same in containers: docker/compose.yaml. BASE names the image to build on.
HADOOP_IMAGE ?= bobbin-hadoop
COMPOSE = BOBBIN_HADOOP_IMAGE=$(HADOOP_IMAGE) $(shell docker compose version >/dev/null 2>&1 && echo docker compose || echo docker-compose) -p bobbin -f docker/compose.yaml

.PHONY: integration-containers docker-image docker-up docker-down docker-shell docker-demo

docker-image:
	$(GO) run ./integration/cmd/image -tag $(HADOOP_IMAGE) $(if $(BASE),-base $(BASE)) $(if $(HADOOP_VERSION),-hadoop $(HADOOP_VERSION))

docker-up: build
	$(COMPOSE) up -d
	@$(GO) run ./integration/cmd/await

docker-down:
	$(COMPOSE) down --volumes

# A shell on the cluster's client host, where yarn-submit is on the PATH and this checkout is /bobbin.
docker-shell:
	$(COMPOSE) exec client bash

# Runs a job on a cluster of containers that is started for it and stopped after it.
docker-demo: build
	@trap '$(COMPOSE) down --volumes' EXIT && $(COMPOSE) up -d && $(GO) run ./integration/cmd/await && \
	$(COMPOSE) exec -T client yarn-submit submit --num-executors 3 bin/pi 24
