# Everything here works on a fresh machine with Go and make: each target
# fetches what it needs. The ClickHouse library (engine, demo) is fetched with
# npm; a clickhouse in PATH will do as well, and without both its tests are skipped.

GO        ?= go
BIN       := bin/rocelens
# What `make run` analyses: a Soft-RoCE capture in which one packet in a
# hundred was dropped ahead of the tap.
CAPTURE   ?= testdata/captures/loss_before_write_1pct.pcap.zst
FUZZTIME  ?= 30s
BENCH     ?= .
BENCHTIME ?= 1s
# Further options of bench-compare: -only a, -scale 0.1, -rounds 5, -dir DIR.
COMPARE   ?=
# Further options of bench-live: -rate 200000, -time 10s, -rounds 1, -priority 10.
LIVE      ?=
# Options of demo: -dir DIR, -listen ADDRESS, -prometheus ADDRESS, -once.
DEMO      ?=
# For how long `make soak` runs a monitor.
SOAK      ?= 20m
# What is built and vetted for other systems by `make lint`.
PLATFORMS := linux/arm64 darwin/arm64 windows/amd64

# The version is git's where this directory is the top of a git work tree, and
# "devel" in an unpacked archive or without git.
VERSION := $(shell [ -e .git ] && git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -s -w -X main.version=$(VERSION)
BUILD   := $(GO) build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)'

# What is released is as old as its commit.
SOURCE_DATE_EPOCH ?= $(shell [ -e .git ] && git log -1 --format=%ct 2>/dev/null || echo 0)
RELEASE = $(GO) run ./cmd/release -version '$(VERSION)' -time $(SOURCE_DATE_EPOCH)

# golangci-lint has requirements of its own and another licence: tools.mod
# pins it, and go.mod does not know of it.
LINT := $(GO) tool -modfile=tools.mod golangci-lint

SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run build static engine engine-for-tests engine-for-demo demo test lint fmt-check vet cross tidy-check golangci race fuzz bench bench-compare bench-live soak pgo golden cover deb deb-check release release-check clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo "  make run CAPTURE=FILE   analyse another capture"
	@echo "  make fuzz FUZZTIME=5m   fuzz each target for longer"
	@echo "  make bench BENCH=ICRC   benchmarks whose name matches"

run: build ## build bin/rocelens and analyse a real capture
	$(BIN) analyze $(CAPTURE)

# Go's own cache decides what is compiled again, so the target is always made.
# The version is stamped with -X, hence no second stamp by the go command.
build: ## build bin/rocelens without cgo
	CGO_ENABLED=0 $(BUILD) -o $(BIN) ./cmd/rocelens

# On Linux the program can load libchdb.so, and for that is linked with glibc.
# This one is not: its embedded ClickHouse must be a clickhouse in PATH.
static: ## build bin/rocelens for Linux without glibc; it can't load libchdb.so
	CGO_ENABLED=0 GOOS=linux $(BUILD) -tags static -o $(BIN) ./cmd/rocelens

engine: ## fetch the ClickHouse library into the user's cache, 178 MB, once
	@storage/engine/fetch.sh

# Without the library its tests are skipped; in CI they must run.
engine-for-tests:
	@storage/engine/fetch.sh || { [ "$${CI:-}" != true ] && echo "engine: tests of the embedded ClickHouse are skipped"; }

# Without the library there may be a clickhouse in PATH, and else the demo says what to do.
engine-for-demo:
	@storage/engine/fetch.sh || echo "engine: only a clickhouse in PATH will do now"

# Built, and not "go run", which a signal other than Ctrl-C would leave behind.
demo: engine-for-demo build ## a ClickHouse with real and simulated trouble in it, and boards for a Grafana to show it
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -o bin/rocelens-demo ./cmd/demo
	@bin/rocelens-demo $(DEMO)

test: engine-for-tests ## run all tests
	$(GO) test ./...

lint: fmt-check tidy-check vet cross golangci ## gofmt, go vet, builds for other systems, golangci-lint

fmt-check:
	@out=$$(gofmt -s -l .); if [ -n "$$out" ]; then echo "gofmt -s -w needed for:"; echo "$$out"; exit 1; fi

tidy-check:
	@$(GO) mod tidy -diff || { echo "run: go mod tidy"; exit 1; }

vet:
	$(GO) vet ./...

# Vetting compiles the tests for that system as well. Building goes without the profile, with
# which all packages would be compiled once more.
cross:
	@for p in $(PLATFORMS); do \
	  export CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/}; \
	  echo "build and vet for $$p"; \
	  $(GO) build -pgo=off -buildvcs=false -o /dev/null ./cmd/rocelens; \
	  $(GO) vet ./...; \
	done

golangci:
	$(LINT) run ./...

# The race detector needs cgo, and with it a C compiler. Left out are packages that
# have no goroutines and share nothing with any, and would take long.
empty :=
space := $(empty) $(empty)
UNRACED := decode decode/anonymize decode/filter dashboards/packets dashboards/report pipeline/finding pipeline/scenario \
  storage/migrate storage/query storage/schema cmd/release cmd/rocelens/manpage dashboards/alerts dashboards/grafana dashboards/grafana/push deploy/docker
# Only these, if any are named.
RACED :=

race: engine-for-tests ## run the tests under the race detector
	CGO_ENABLED=1 $(GO) test -race -timeout 20m $(or $(RACED),$$($(GO) list ./... | grep -vxE 'github.com/rocelens/rocelens/($(subst $(space),|,$(strip $(UNRACED))))'))

# go test fuzzes one target of one package at a time.
fuzz: ## run every fuzz target for FUZZTIME (30s)
	@for pkg in $$($(GO) list ./...); do \
	  targets=$$($(GO) test -list '^Fuzz' "$$pkg"); \
	  for t in $$(grep '^Fuzz' <<<"$$targets" || true); do \
	    echo "fuzz $$pkg $$t"; \
	    $(GO) test -run '^$$' -fuzz "^$$t\$$" -fuzztime $(FUZZTIME) "$$pkg"; \
	  done; \
	done

bench: ## run the benchmarks
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchtime $(BENCHTIME) -benchmem ./...

# The go command takes the profile by its name.
pgo: ## measure anew what cmd/rocelens/default.pgo tells the compiler
	$(GO) test -run '^$$' -bench Scenarios -benchtime 3s -cpuprofile cmd/rocelens/default.pgo -o /dev/null ./pipeline

bench-compare: build ## whole runs beside other programs and a bare loop (10 GB of disk)
	$(GO) run ./cmd/benchcompare -rocelens $(BIN) $(COMPARE)

bench-live: build ## live capture beside tcpdump, sender and receiver together (root; 6 minutes)
	$(GO) build -o bin/benchlive ./cmd/benchlive
	bin/benchlive -rocelens $(BIN) $(LIVE)

soak: engine-for-tests ## run a monitor for SOAK (20m) while its ClickHouse comes and goes (root)
	SOAK=$(SOAK) $(GO) test -count=1 -timeout 24h -run '^TestSoak$$' -v ./cmd/rocelens/monitor

# Only packages whose tests know the flag -update can be given it.
golden: ## rewrite the golden files, for you to read
	@dirs=$$(grep -rl 'flag\.Bool("update"' --include='*_test.go' . | sed 's,/[^/]*$$,,' | sort -u || true); \
	if [ -z "$$dirs" ]; then echo "no package has golden files"; exit 0; fi; \
	$(GO) test $$dirs -count=1 -update; \
	echo; \
	git --no-pager diff --stat 2>/dev/null || true; \
	echo "Now read every line of that diff (git diff; new files: git status)."; \
	echo "A golden file states what is right. The program wrote it, only you can judge it."

# A line of code counts as covered whichever package's test ran it.
cover: engine-for-tests ## run all tests and print the coverage of each package
	@$(GO) test -coverpkg=./... -coverprofile=coverage.out ./... | { grep -vE '^ok|coverage: [0-9.]+% of|no test files' || true; }
	@awk 'NR > 1 { \
	    file = $$1; sub(/:.*/, "", file); sub(/\/[^\/]*$$/, "", file); \
	    if (!($$1 in seen)) { seen[$$1] = 1; all[file] += $$2; total += $$2 } \
	    if ($$3 > 0 && !($$1 in hit)) { hit[$$1] = 1; run[file] += $$2; covered += $$2 } \
	  } END { \
	    for (f in all) printf "%5.1f %%  %s\n", 100 * run[f] / all[f], f | "sort -k3"; \
	    close("sort -k3"); \
	    if (total) printf "%5.1f %%  total\n", 100 * covered / total \
	  }' coverage.out
	@echo "line by line: $(GO) tool cover -html=coverage.out"

deb: ## build the Debian package, in dist
	$(RELEASE) -only deb -- $(BUILD) ./cmd/rocelens

# lintian brings much of Perl with it, which takes longer than all of this.
deb-check: deb ## let lintian judge it
	lintian --allow-root --fail-on error,warning,info dist/*.deb

release: ## build all that a tag is released as, in dist
	$(RELEASE) -tagged -- $(BUILD) ./cmd/rocelens

release-check: ## build an archive and the package twice, which must give the same bytes
	$(RELEASE) -only linux-amd64,deb -dir dist/first -- $(BUILD) ./cmd/rocelens
	GOCACHE=$$PWD/dist/cache $(RELEASE) -only linux-amd64,deb -dir dist/second -- $(BUILD) ./cmd/rocelens
	diff -r dist/first dist/second && rm -rf dist

clean: ## remove what was built
	rm -rf bin dist coverage.out
