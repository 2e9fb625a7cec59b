# bobbin's tasks. `make demo` shows it, `make test` checks it.

GO ?= go
# Programs for the cluster are static: they need nothing of the node they run on.
BUILD = CGO_ENABLED=0 $(GO) build -trimpath -ldflags="-s -w -X main.version=$(VERSION)"
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

.PHONY: all build release test check unit integration integration-with-engine integration-clusters demo generate check-generated bench-launch bench-tasks bench-scale bench-allocator clean

all: build

build:
	@mkdir -p bin
	$(BUILD) -o bin/ ./cmd/yarn-submit ./examples/wordcount ./examples/pi

# What is published of yarn-submit, into dist/: archives, Debian packages, container images, bills of materials, checksums.
# The same commit makes the same bytes anywhere; RELEASE_FLAGS=-dirty tries it with changes that are not committed.
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
	$(GO) vet ./...
	$(GO) vet -tags integration ./integration/...
	$(GO) tool staticcheck ./...
	$(GO) tool staticcheck -tags integration ./integration/...
	GOFLAGS=-trimpath GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 $(GO) vet . ./client/... ./cmd/... ./examples/...

# By default a process with the race detector sleeps for a second before it exits, in each of some hundred processes of
# the tests.
unit:
	GORACE="atexit_sleep_ms=50 $$GORACE" $(GO) test -race -timeout 30m ./...

# Runs against real Hadoop clusters that the tests start; needs Java 17 and Maven, and for those in containers root and
# Docker, of which with-engine starts an engine where none runs. Two packages at a time, those that take longest first:
# mostly they wait.
integration:
	docker/with-engine $(MAKE) integration-with-engine

integration-with-engine: build docker-image
	$(GO) test -tags integration -count=1 -p 2 -timeout 45m ./integration/acceptance ./integration/faults ./integration/...

# What must hold on other releases and schedulers than the usual cluster's, each a Hadoop release and a scheduler.
CLUSTERS = 3.3.6/capacity 3.5.0/capacity 3.4.3/fair
CLUSTERS_RUN = WordCount|Kill|Logs
integration-clusters: build
	@failed=; for each in $(CLUSTERS); do echo "on Hadoop $$each"; \
		BOBBIN_TEST_HADOOP_VERSION=$${each%/*} BOBBIN_TEST_SCHEDULER=$${each#*/} $(GO) test -tags integration -count=1 -timeout 45m \
			./integration/acceptance -run '$(CLUSTERS_RUN)' || failed="$$failed $$each"; \
	done; [ -z "$$failed" ] || { echo "failed on Hadoop$$failed"; exit 1; }

# What users meet first, on a cluster of containers; needs Docker, the image of docker-image, and root. All of acceptance
# runs there: CONTAINERS_RUN=. for that.
CONTAINERS_RUN = WordCount|Submit|TestRun|Files|Kill|ClientMode|TestFirstResource|Unreach|TestAJobThatWaits|Home|ItsUser
integration-containers: build
	$(GO) test -tags integration -count=1 -timeout 45m ./integration/acceptance -cluster=containers -run '$(CONTAINERS_RUN)'

# Writes generated code and pages again.
generate:
	$(GO) run ./internal/protogen
	$(GO) run ./internal/configdoc > docs/configuration.md
	$(GO) generate ./jobfile

check-generated: generate
	git diff --exit-code -- '*.pb.go' docs/configuration.md jobfile/job.schema.json

# From yarn-submit starting to both executors registered, beside the cluster's own floor.
# Prints one JSON object a line on stdout, and nothing else there.
bench-launch:
	@$(MAKE) --silent --no-print-directory build >&2
	@$(GO) run ./bench/launch

# Tasks that do nothing on a real cluster, in a second, and Spark's beside it; installs pyspark from PyPI into a folder
# of its own when it is not there. Prints as bench-launch does, and so does the next.
bench-tasks:
	@$(MAKE) --silent --no-print-directory build >&2
	@$(GO) run ./bench/tasks

# A driver with 10,000 executors, which are simulated on loopback.
bench-scale:
	@$(GO) run ./bench/scale

# An ApplicationMaster that gets and launches up to 10,000 containers of a simulated cluster of 2,000 nodes.
bench-allocator:
	@$(GO) run ./bench/allocator

clean:
	rm -rf bin

# A real Hadoop cluster on this machine; needs Java 17 and Maven.
CLUSTER_DIR ?= .cluster
CLUSTER = $(GO) run ./integration/cmd/cluster -dir $(CLUSTER_DIR) $(if $(HADOOP_VERSION),-hadoop $(HADOOP_VERSION))

.PHONY: cluster-up cluster-down cluster-status

# Prints the line that points a shell to the cluster: eval "$$(make cluster-up)"
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
	$(GO) run ./docker/image -tag $(HADOOP_IMAGE) $(if $(BASE),-base $(BASE)) $(if $(HADOOP_VERSION),-hadoop $(HADOOP_VERSION))

docker-up: build
	$(COMPOSE) up -d
	@$(GO) run ./docker/await

docker-down:
	$(COMPOSE) down --volumes

# A shell on the cluster's client host: yarn-submit is on its PATH, this checkout is /bobbin.
docker-shell:
	$(COMPOSE) exec client bash

# A job on the cluster of containers, which is up for it alone.
docker-demo: build
	@trap '$(COMPOSE) down --volumes' EXIT && $(COMPOSE) up -d && $(GO) run ./docker/await && \
	$(COMPOSE) exec -T client yarn-submit submit --num-executors 3 bin/pi 24
