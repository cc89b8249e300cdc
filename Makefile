# `make demo` and `make test` install their dependencies.

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory
# Tests start hundreds of processes; without bytecode each compiles the product again.
unexport PYTHONDONTWRITEBYTECODE

PY := .venv/bin/python
# The packages of dragoman itself, which suffice for the demo, and those of everything else as well.
RUNTIME := .venv/.runtime
INSTALLED := .venv/.installed
define FIND_PYTHON
python=; for name in $${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 python; do \
	if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	then python=$$name; break; fi; done; \
if [ -z "$$python" ]; then echo "no Python >= 3.11 found: install one, or name it: make setup PYTHON=/path/to/python3" >&2; exit 1; fi
endef
COMPILE := .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links
PYTEST := $(PY) -m pytest
N ?= 10000
PROCESSES ?= 3
MINUTES ?= 10
WORLDS ?= 2000

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z][a-z-]*:.*## ' Makefile | sed -E 's/:.*## /\t/' | while IFS=$$'\t' read -r name text; \
		do printf '  make %-14s %s\n' "$$name" "$$text"; done

# Set-up ------------------------------------------------------------------------------------------

.PHONY: setup
setup: $(INSTALLED) ## Create .venv with the packages of tests, lint and docs (Python >= 3.11)

$(RUNTIME): pyproject.toml requirements.txt $(wildcard tests/setup/*.txt)
	@$(FIND_PYTHON); $$python -m tests.setup demo
	@touch $@

$(INSTALLED): pyproject.toml tests/requirements.txt tests/setup/uv.txt
	@$(FIND_PYTHON); $$python -m tests.setup tests
	@touch $@

.PHONY: controlplane
controlplane: setup ## Download or build the control plane's binaries; the last line is their folder
	@$(PY) -m tests.support.controlplane.binaries

.PHONY: release-digests
release-digests: setup ## Pin the digests of official binaries, which CI may download (ARGS=--check)
	@$(PY) -m tests.support.controlplane.releases $(ARGS)

.PHONY: requirements
requirements: setup ## Pin the dependencies of pyproject.toml (ARGS=--upgrade for newer versions)
	@$(COMPILE) pyproject.toml --extra operator $(ARGS) -o requirements.txt
	@$(COMPILE) pyproject.toml -c requirements.txt -o tests/setup/commands.txt
	@$(COMPILE) pyproject.toml --extra operator --group dev --group docs $(ARGS) -o tests/requirements.txt
	@for group in build uv; do \
		$(COMPILE) --group pyproject.toml:$$group -c tests/requirements.txt -o tests/setup/$$group.txt; done

# Seeing it ---------------------------------------------------------------------------------------

.PHONY: demo
demo: $(if $(or $(NODE),$(wildcard $(INSTALLED))),$(INSTALLED),$(RUNTIME)) ## Show on a real control plane what dragoman does (KEEP=1 leaves it running; NODE=1: real pods)
	@KEEP=$(KEEP) NODE=$(NODE) $(PY) -m tests.demo

# Checking it -------------------------------------------------------------------------------------

.PHONY: lint
lint: setup ## Check style, types and import layers
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/lint-imports

PACKAGES := base cel configs webhooks dragoman toolkit drivers

.PHONY: unit
unit: setup ## Run the tests without a control plane, in minutes, with half the random examples (PACKAGE=cel: of one)
	@export DRAGOMAN_EXAMPLES=$${DRAGOMAN_EXAMPLES:-0.5}; \
		$(if $(PACKAGE),$(MAKE) unit-$(PACKAGE),$(MAKE) -j3 --output-sync=target unit-lower unit-wire unit-upper)

# One package alone: an import of a package above it fails.
.PHONY: $(PACKAGES:%=unit-%)
$(PACKAGES:%=unit-%): unit-%:
	@PYTHONPATH=tests/support/onepackage DRAGOMAN_PACKAGE=$* $(PYTEST) -q -m 'not slow' tests/unit/$*

UNIT_LOWER := tests/unit/base tests/unit/cel tests/unit/configs tests/unit/webhooks
UNIT_WIRE := tests/unit/dragoman/kube/http

# Side by side: those of the lower packages, those that mostly wait for time-outs, and all others.
.PHONY: unit-lower unit-wire unit-upper
unit-lower:
	@$(PYTEST) -q -m 'not slow' $(UNIT_LOWER)

unit-wire:
	@$(PYTEST) -q -m 'not slow' $(UNIT_WIRE)

unit-upper:
	@$(PYTEST) -q -m 'not slow' $(UNIT_LOWER:%=--ignore=%) --ignore=$(UNIT_WIRE) tests/unit tests/test_layout.py

# Each of the test processes would compile a new checkout for itself.
.PHONY: bytecode
bytecode: setup
	@$(if $(wildcard tests/__pycache__/test_layout*),:,$(PYTEST) -q --collect-only -m 'not slow' >/dev/null || true)

# Dozens of API servers start and end: with more garbage each takes a fifth less CPU.
.PHONY: test
test: export GOGC := $(or $(GOGC),400)
test: setup ## Run lint and every test that is not slow
	@$(MAKE) --output-sync=target lint & lint=$$!; tests=0; \
		{ $(MAKE) bytecode && $(MAKE) controlplane && { $(PY) -m tests.ui.browser || true; } && \
		$(PYTEST) -ra -m 'not slow' -n $(PROCESSES) --no-loadscope-reorder --durations=20; } || tests=$$?; \
		wait $$lint || { echo 'ERROR lint failed: make lint'; exit 1; }; exit $$tests

.PHONY: test-slow
test-slow: controlplane ## Run the tests that take minutes
	@$(PYTEST) -ra -m 'slow and not node'
	@DRAGOMAN_EXAMPLES=20 $(PYTEST) -q $$(grep -rl 'import examples' --include='test_*.py' tests/unit)

.PHONY: test-hostile
test-hostile: controlplane ## Attack everything at full size; prints tries and survivors by area (goes on where it stopped)
	@DRAGOMAN_HOSTILE=1 DRAGOMAN_HOSTILE_STATE=build/hostile $(PYTEST) -ra -m hostile

.PHONY: test-explain
test-explain: controlplane ## Compare `kubectl dra` with the real scheduler in WORLDS random clusters from SEED on
	@DRAGOMAN_WORLDS=$(WORLDS) $(if $(SEED),DRAGOMAN_SEED=$(SEED)) DRAGOMAN_EVENT_PODS=500 \
		$(if $(DRIVERS),DRAGOMAN_DRIVERS=$(DRIVERS)) $(PYTEST) -ra tests/e2e/toolkit tests/e2e/explain

.PHONY: test-answers
test-answers: setup ## Hold answers of explain in SEEDS random worlds against an evaluator; STATE=FILE goes on where it ended
	@$(PY) -m tests.answers --first $(or $(FIRST),0) --seeds $(or $(SEEDS),1000) $(if $(STATE),--state $(STATE))

.PHONY: test-versions
test-versions: setup ## Run the end-to-end suites on every Kubernetes version (VERSIONS="v1.37.2" SUITES=modes)
	@VERSIONS="$(VERSIONS)" SUITES="$(SUITES)" PROCESSES=$(PROCESSES) $(PY) -m tests.versions

.PHONY: test-faults
test-faults: setup ## Measure which faults the built-in controller of each version has (VERSIONS="v1.37.2")
	@VERSIONS="$(VERSIONS)" FAULTS="$(FAULTS)" $(PY) -m tests.versions.faults

.PHONY: manifest-verdicts
manifest-verdicts: setup ## Record what API servers say to manifests that people write (ARGS="v1.37.2")
	@$(PY) -m tests.conformance.manifests.verdicts $(ARGS)

.PHONY: test-conformance
test-conformance: controlplane ## Check the pretended driver, and some with a fault, by `dragoman conformance`
	@$(PYTEST) -ra -s tests/e2e/conformance

.PHONY: test-mutants
test-mutants: controlplane ## Check every pretended driver with a fault (ARGS="--jobs 4 --check P1", goes on where it stopped)
	@$(PY) -m tests.e2e.conformance.mutants $(ARGS)

.PHONY: test-upstream
test-upstream: controlplane ## Run Kubernetes' own tests of DRA with dragoman (ARGS="--kubernetes v1.37.2 --suite node")
	@$(PY) -m tests.upstream $(ARGS)

.PHONY: test-cluster-templates
test-cluster-templates: controlplane ## Change one template of 500 namespaces under 200 starting pods
	@DRAGOMAN_NAMESPACES=500 $(PYTEST) -s -ra tests/e2e/clustertemplates/test_change.py

.PHONY: test-ui
test-ui: controlplane ## Test the page of `kubectl dra ui` in chromium (apt-get installs it for root)
	@$(PY) -m tests.ui.browser
	@$(PYTEST) -ra tests/ui

.PHONY: test-axe
test-axe: setup ## Look for violations of accessibility rules on the page, with axe-core from npm
	@$(PY) -m tests.ui.browser
	@folder=$$(mktemp -d); trap 'rm -rf "$$folder"' EXIT; \
		npm install --silent --no-save --ignore-scripts --prefix "$$folder" axe-core@4.10.3; \
		DRAGOMAN_AXE="$$folder/node_modules/axe-core/axe.min.js" $(PYTEST) -ra tests/ui/test_page.py -k axe

.PHONY: test-maintenance
test-maintenance: controlplane ## Take devices out of service alongside a real scheduler: 200 attempts, 200 random worlds
	@DRAGOMAN_MAINTENANCE=1 $(PYTEST) -ra -s tests/e2e/maintenance

.PHONY: test-preemption-oracle
test-preemption-oracle: setup ## Compare victims with the scheduler's in WORLDS worlds from SEED on, on each of 1.34 to 1.38 (KUBERNETES=1.36; resumable)
	@for version in $(or $(KUBERNETES),1.38 1.37 1.36 1.35 1.34); do \
		$(PY) -m tests.conformance.fuzz_preemption $(WORLDS) \
			--kubernetes $$version --seed $(or $(SEED),28) || exit 1; done

.PHONY: test-preemption
test-preemption: controlplane ## Play RUNS random preemptions from SEED on with the real scheduler, and kill controllers (KIND=budgets; resumable)
	@$(PY) -m tests.e2e.preemption.races $(or $(RUNS),1000) $(or $(SEED),1) "$(KIND)"

.PHONY: test-defrag
test-defrag: controlplane ## Compare plans of moves with brute force in 1,000 small worlds, and carry out MOVES of them
	@DRAGOMAN_EXAMPLES=50 $(PYTEST) -q -s tests/unit/toolkit/defrag/test_defrag.py
	@DRAGOMAN_MOVES=$(or $(MOVES),100) $(PYTEST) -q -s tests/e2e/preemption/test_moves.py

.PHONY: test-migrate
test-migrate: controlplane ## Move WORLDS random fleets to DRA and back by plans, from SEED on, with the real scheduler (resumable)
	@$(PY) -m tests.e2e.migration.worlds $(or $(WORLDS),500) $(or $(SEED),1)

.PHONY: test-migrate-mutants
test-migrate-mutants: controlplane ## Let these fleets find each fault that is planted into `kubectl dra migrate`, within a minute
	@$(PY) -m tests.e2e.migration.mutants

.PHONY: test-node
test-node: controlplane ## Run the tests whose containers really run (root on Linux)
	@$(PYTEST) -ra -m node

.PHONY: soak
soak: controlplane ## Break the control plane at random under churn (MINUTES=n SEED=n)
	@$(PY) -m tests.e2e.faults.soak $(MINUTES) $(SEED)

.PHONY: soak-memory
soak-memory: controlplane ## Measure what operator and webhook hold under churn, after SCHEMAS new schemas (MINUTES=20)
	@$(PY) -m tests.e2e.faults.memory $(if $(filter command,$(origin MINUTES)),$(MINUTES),20) $(or $(SCHEMAS),1897)

SIMULATE := $(PY) -m tests.simulation

.PHONY: simulate
simulate: setup ## Simulate clusters in virtual time for 60 s (SEEDS=1000 SCENARIO=leaders FIRST=1; SEED=25 SCENARIO=return for one run with its trace)
	@$(if $(SEED),$(SIMULATE) seed $(SEED) $(or $(SCENARIO),leaders) --trace,\
		$(if $(SEEDS),$(SIMULATE) run --seeds $(SEEDS),$(SIMULATE) run --seeds 1000000 --seconds 60) \
		--first $(or $(FIRST),1) $(if $(SCENARIO),--scenario $(SCENARIO)))

.PHONY: simulate-fidelity
simulate-fidelity: controlplane ## Compare the simulated API server with a real one: 79 requests, 20 runs
	@$(PYTEST) -ra tests/simulation/test_fidelity.py

.PHONY: simulate-enumerate
simulate-enumerate: setup ## Perturb every write of the simulated workloads in 13 ways (WORKLOAD=job,leaders)
	@$(SIMULATE) enumerate --workload "$(WORKLOAD)"

.PHONY: simulate-minimise
simulate-minimise: setup ## Make the schedule of a failing simulation smaller (SEED=n SCENARIO=s)
	@$(SIMULATE) minimise $(SEED) $(SCENARIO)

.PHONY: simulate-mutants
simulate-mutants: setup ## Plant faults in copies of the operator, and measure how soon simulations find each (ONLY=lease)
	@$(PY) -m tests.simulation.mutants --only "$(ONLY)"

# What is built quickly runs more slowly.
bench bench-%: export DRAGOMAN_BUILD := optimized

.PHONY: bench
bench: controlplane ## Measure the claim controller alongside the built-in one
	@$(PY) -m tests.bench

.PHONY: bench-scale
bench-scale: controlplane ## Measure the operator alongside 5,000 nodes and 50,000 pods (ARGS="--scale 0.05 --minutes 1")
	@$(PY) -m tests.bench.scale $(ARGS)

.PHONY: bench-node
bench-node: controlplane ## Measure jobs on a real node, with each claim controller in turn
	@$(PY) -m tests.bench.node

.PHONY: bench-cel
bench-cel: setup ## Measure CEL evaluation (KUBERNETES=1.38)
	@$(if $(KUBERNETES),KUBERNETES=$(KUBERNETES)) $(PY) -m tests.bench.cel

.PHONY: bench-cel-hostile
bench-cel-hostile: setup ## Search for the CEL expressions that run longest until a limit ends them (SEED=n ARGS="--each 5")
	@$(PY) -m tests.bench.cel_hostile $(or $(SEED),1) $(ARGS)

.PHONY: bench-evictions
bench-evictions: controlplane ## Measure evictions alongside kube-controller-manager (PODS=n CLAIMS=n SLICES=n)
	@$(PY) -m tests.bench.evictions

.PHONY: bench-poolstatus
bench-poolstatus: setup ## Measure the status of 1,000 pools with 20,000 claims (SLICES=n CLAIMS=n)
	@$(PY) -m tests.bench.poolstatus

.PHONY: bench-allocator
bench-allocator: setup ## Measure the allocator alongside kube-scheduler's own (KUBERNETES=1.38)
	@$(if $(KUBERNETES),KUBERNETES=$(KUBERNETES)) $(PY) -m tests.bench.allocation

.PHONY: bench-explain
bench-explain: setup ## Measure explain and top in clusters of 100 to 5,000 nodes
	@$(PY) -m tests.bench.explain
	@$(PY) -m tests.bench.explain.record

.PHONY: bench-ui
bench-ui: setup ## Measure the page of 1,000 nodes in chromium
	@$(PY) -m tests.ui.browser
	@$(PY) -m tests.bench.ui

.PHONY: bench-doctor
bench-doctor: setup ## Measure `kubectl dra doctor` on 2,000 claims and 100 pools
	@$(PY) -m tests.bench.doctor

.PHONY: bench-preemption
bench-preemption: setup ## Measure a plan at 1,000 and 5,000 nodes with 8 used devices each
	@$(PY) -m tests.bench.preemption

.PHONY: bench-webhook
bench-webhook: setup ## Measure the webhook alongside a vendor's
	@$(PY) -m tests.bench.webhook

.PHONY: comparison
comparison: setup ## Build the vendors' webhooks, repeat the comparison, update docs/comparison.md
	@$(PY) -m tests.conformance.peer.comparison --ask

.PHONY: fuzz-cel
fuzz-cel: setup ## Compare N random CEL cases with the Go implementation (ARGS="--kubernetes 1.38")
	@$(PY) -m tests.conformance.fuzz $(N) $(ARGS)

.PHONY: test-allocator
test-allocator: controlplane ## Compare 1,000 random worlds with a real kube-scheduler (WORLDS=n SEED=n)
	@DRAGOMAN_WORLDS=$(if $(filter command,$(origin WORLDS)),$(WORLDS),1000) DRAGOMAN_SEED=$(or $(SEED),$(shell date +%s)) $(PYTEST) -q -s tests/e2e/allocation

.PHONY: fuzz-allocator
fuzz-allocator: setup ## Compare N random allocations with the Go implementation (ARGS="--kubernetes 1.37 --seed 7")
	@$(PY) -m tests.conformance.fuzz_allocator $(N) $(ARGS)

.PHONY: image-rootfs
image-rootfs: setup ## Build the image as an OCI archive, without docker or a registry (ARCH=arm64)
	@$(PY) -m tests.image $(ARCH)

.PHONY: wheel
wheel: setup ## Make wheel and source distribution: dist/
	@rm -rf dist
	@.venv/bin/hatchling build -d dist
	@.venv/bin/twine check --strict dist/*

.PHONY: release-check
release-check: setup ## Check what a release consists of: workflows, packages, chart, krew manifest
	@.venv/bin/zizmor --offline --quiet .github
	@$(PYTEST) -q tests/release

.PHONY: zipapp
zipapp: setup ## Make the check, and kubectl dra, as one file each, without servers: dist/*.pyz
	@$(PY) -m tests.zipapp

.PHONY: test-check
test-check: controlplane ## Compare the check with real API servers over N generated manifests
	@DRAGOMAN_MANIFESTS=$(N) $(PYTEST) -ra tests/e2e/check

.PHONY: test-corpus
test-corpus: setup ## Compare the check with API servers on files in the layouts of public repositories (ARGS="v1.37.2")
	@$(PY) -m tests.conformance.corpus $(ARGS)

.PHONY: bench-check
bench-check: setup ## Measure the check on 6,000 objects (ARGS="--before COMMIT" compares with another tree)
	@$(PY) -m tests.bench.check $(ARGS)

.PHONY: catalog-drift
catalog-drift: setup ## Compare the catalog with the Go types of the drivers' pinned modules
	@$(PY) -m tests.conformance.drift.drift $(SOURCES:%=--source %)

.PHONY: newest
newest: setup ## Compare what is known of Kubernetes with the newest release of the Go module proxy (ARGS="--known 1.37 --cases 500"; resumable)
	@$(PY) -m tests.newest $(ARGS)

.PHONY: faults
faults: setup ## Read fixes of known faults and removed gates from Kubernetes' newest modules
	@for version in v1.36.3 v1.37.2 v1.38.0-beta.0; do \
		GOFLAGS=-mod=mod go mod download k8s.io/kubernetes@$$version; done
	@$(PY) -m docs.generate_faults

.PHONY: pages
pages: setup ## Generate pages of docs/ and files of charts/ from code, comments and benchmarks
	@for name in architecture catalog chart checks losses manual measurements permissions reference rules; do \
		$(PY) -m docs.generate_$$name; done
	@$(PY) -m tests.conformance.peer.comparison
	@$(PY) -m tests.bench.webhook.report

.PHONY: screenshots
screenshots: controlplane ## Take the pictures of docs/ in chromium, and record the demo
	@$(PY) -m tests.ui.browser
	@$(PY) -m tests.ui.screenshots
	@$(PY) -m tests.demo.record

.PHONY: docs
docs: setup ## Build the documentation's site into build/site
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --quiet --strict

.PHONY: clean
clean: ## Remove .venv and caches of the checkout (the binaries' cache stays)
	@rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist build
	@find operator webhooks tests -name __pycache__ -type d -prune -exec rm -rf {} +
