.DEFAULT_GOAL := help
SHELL := /bin/sh
BIN ?= /usr/local/bin

.PHONY: help
help: ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

.PHONY: up
up: ## Install what is missing, start everything on loopback, run the demo
	@sh hack/setup.sh up
	@./moor up

.PHONY: down
down: ## Stop what `make up` started (the data stays; `./moor down --purge` removes it)
	@./moor down

.PHONY: install
install: ## Put the moor command on the PATH (BIN=/usr/local/bin)
	@ln -sf "$(CURDIR)/moor" "$(BIN)/moor" && echo "moor is now $(BIN)/moor"

.PHONY: test
test: ## Install what is missing and run what a change must pass (SUITES="unit etcd" chooses)
	@sh hack/setup.sh test
	@exec sh hack/sandbox.sh node dist/hack/test.js quick $(SUITES)

.PHONY: test-deep
test-deep: ## Run everything else: all seeds, planted mistakes, guides, faults (SUITES chooses; SHARE=1/2 a part)
	@sh hack/setup.sh test deep
	@exec sh hack/sandbox.sh node dist/hack/test.js deep $(SUITES)

.PHONY: simulation
simulation: ## The whole system in 500 simulated worlds, and every planted mistake noticed (MOORING_SEEDS, MOORING_FIRST_SEED)
	@sh hack/setup.sh test
	@sh hack/sandbox.sh node dist/hack/test.js quick simulation
	@MOORING_SEEDS=$${MOORING_SEEDS:-500} exec sh hack/sandbox.sh node dist/hack/test.js deep simulation

.PHONY: seeds
seeds: ## Look for the seed at which each planted mistake shows soonest, and write e2e/simulation/noticed.json
	@sh hack/setup.sh test
	@exec sh hack/sandbox.sh node dist/e2e/simulation/find-seeds.js

.PHONY: chaos
chaos: ## The store on one and three etcd members while everything breaks; a table of what held (MOORING_CHAOS_RUNS, MOORING_CHAOS_OPERATIONS)
	@sh hack/setup.sh test chaos
	@git describe --always --dirty 2>/dev/null || true # what a log is of
	@node --import=tsx hack/chaos.ts

.PHONY: churn
churn: ## Deployments come and go and nodes are lost; memory of every process and the size of etcd must not grow (MOORING_CHURN_MINUTES)
	@sh hack/setup.sh test
	@git describe --always --dirty 2>/dev/null || true # what a log is of
	@node --import=tsx hack/churn.ts

.PHONY: database
database: ## PostgreSQL loses its machine twenty times in each way, serves again, and has every record up to the reported lag (MOORING_DATABASE_RUNS, MOORING_DATABASE_SEED)
	@sh hack/setup.sh test database
	@git describe --always --dirty 2>/dev/null || true # what a log is of
	@MOORING_DATABASE_RUNS=$${MOORING_DATABASE_RUNS:-20} exec sh hack/sandbox.sh npx --no-install mocha --exit --timeout 600000 e2e/stories/volume-database.deep.test.ts

.PHONY: writers
writers: ## The writer of a volume loses its machine in eight ways, twenty times each and with each driver: two never write at once (MOORING_WRITERS_RUNS)
	@sh hack/setup.sh test
	@git describe --always --dirty 2>/dev/null || true # what a log is of
	@MOORING_WRITERS_RUNS=$${MOORING_WRITERS_RUNS:-20} exec sh hack/sandbox.sh npx --no-install mocha --exit --parallel --jobs 2 --timeout 600000 e2e/stories/volume-writers-*.deep.test.ts

.PHONY: restores
restores: ## An older state of etcd is restored twenty times while copies, volumes and deployments are newer; nothing goes that was not shown (MOORING_RESTORE_RUNS)
	@sh hack/setup.sh test
	@git describe --always --dirty 2>/dev/null || true # what a log is of
	@MOORING_RESTORE_RUNS=$${MOORING_RESTORE_RUNS:-20} exec sh hack/sandbox.sh npx --no-install mocha --exit --timeout 1200000 e2e/stories/restore.deep.test.ts

.PHONY: verify
verify: ## Types, lint, format, import floors, layout, asserted times, rejection codes, generated files
	@sh hack/setup.sh verify
	@npx --no-install tsx hack/verify.ts

.PHONY: fix
fix: ## Fix formatting and lint findings, and regenerate
	@npx --no-install biome format --write .
	@npx --no-install oxlint --type-aware --fix
	@$(MAKE) --no-print-directory generate

.PHONY: generate
generate: ## Write all generated files
	@npx --no-install tsx hack/generate.ts

.PHONY: bench
bench: ## Benchmarks, as ratios against etcd and the engine themselves (BENCH="w1 w2" chooses; AGAINST=<checkout> compares with that one)
	@sh hack/setup.sh bench
	@[ -z "$(AGAINST)" ] || sh "$(AGAINST)/hack/setup.sh" bench
	@AGAINST="$(AGAINST)" node --enable-source-maps dist/hack/bench/main.js $(BENCH)

.PHONY: coverage
coverage: ## Line coverage of the unit suite
	@npx --no-install c8 --all --include 'crds/**' --include 'pkg/**' --include 'controllers/**' --include 'bridge/**' --include 'api/**' --exclude '**/*.test.ts' npx mocha --ignore '**/*.etcd.test.ts' --ignore '**/*.docker.test.ts' --ignore '**/*.kernel.test.ts' '{crds,pkg,controllers,bridge,api,dev}/**/*.test.ts'

.PHONY: deb
deb: ## A Debian package with systemd units, in .cache
	@sh hack/setup.sh
	@node dist/packaging/build-deb.js

.PHONY: image
image: ## An image of server and controllers, "mooring", by the engine of this machine (NODE_IMAGE=node:22-bookworm-slim)
	@sh hack/setup.sh
	@node dist/packaging/stage-image.js .cache/image
	@docker build -t mooring $(if $(NODE_IMAGE),--build-arg NODE_IMAGE=$(NODE_IMAGE)) .cache/image

.PHONY: check-crds
check-crds: ## Put the generated CRDs to Kubernetes' own validation (needs Go; built once into .cache)
	@command -v go >/dev/null || { echo "skipped: Go is not installed"; exit 0; }; \
	mkdir -p .cache && { [ .cache/crd-check -nt hack/crd-check/main.go ] || go build -C hack/crd-check -o ../../.cache/crd-check .; } && .cache/crd-check crds/manifests/*.yaml
