# `make run` runs the main job on a fresh machine, `make test` its tests. Each sets up what it needs and no more;
# `make EXTRAS="scale traces" run` installs the extras too, which are kept up to date from then on.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
DEV := .venv/.dev
FUZZER := .venv/.fuzz
EXTRAS ?=
RUNTIME := $(READY) $(EXTRAS:%=.venv/.%) $(wildcard .venv/.scale .venv/.traces)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
COMPILE := $(BIN)/uv pip compile --quiet --universal --no-strip-extras --generate-hashes
WORKERS ?= 2
MINUTES ?= 10
HISTORIES ?= 1000
# All but an hour's soak, and two that need more than a checkout: a lake, or a bucket and a database server.
BENCHMARKS := $(filter-out $(addprefix benchmarks/,soak.py ratios.py rule_worth.py shared_lake.py),\
  $(sort $(wildcard benchmarks/[a-z]*.py)))

unexport PYTHONDONTWRITEBYTECODE # what one process compiles, the next one reads

.PHONY: setup run ui test test-system test-browser test-realwiki faults fuzz soak test-all lint format bench bench-quick audit \
  lock clean histories

setup: $(RUNTIME) ## Only the virtual environment, .venv

run: $(RUNTIME) ## The sample wiki (or whatever is enabled), from nothing to promoted entities
	$(BIN)/holocron run

ui: $(RUNTIME) ## Dagster's web UI on http://127.0.0.1:3000, with the daemon and sensors on
	$(BIN)/holocron ui

test: $(DEV) ## What to run before each commit: the quick tests, which need nothing but Python
	$(BIN)/pytest -m "not system and not full and not realwiki and not browser" -n $(WORKERS)

test-system: $(DEV) ## Holocron's processes as they run together, real PostgreSQL and Dagster's daemon included
	$(BIN)/pytest -m "system and not full and not realwiki and not browser" -n $(WORKERS) --dist worksteal

test-browser: $(DEV) ## The web pages in a real browser
	$(BIN)/pytest -m "browser and not full"

test-realwiki: $(DEV) ## Crawls of a real MediaWiki on loopback
	$(BIN)/pytest -m "realwiki and not full"

faults: $(DEV) ## Break the running system on purpose, in every way we know; ends with a table
	$(BIN)/pytest -m fault -n $(WORKERS)

fuzz: $(DEV) $(FUZZER) ## Make up inputs for the parsers, guided by the code that they reach; MINUTES in all
	$(BIN)/python holocron_assets_tests/fuzz/fuzz.py --minutes $(MINUTES)

histories: $(DEV) ## Random histories of 50 steps, compared with a model after each; HISTORIES of them, SEED repeats some
	HOLOCRON_HISTORIES=$(HISTORIES) HOLOCRON_HISTORIES_SEED=$(SEED) HOLOCRON_HISTORIES_WORKERS=$(WORKERS) \
	  $(BIN)/pytest -s holocron_assets_tests/histories

soak: $(DEV) ## An hour of the whole with a wiki that changes and faults at random; SOAK="--minutes N --seed N"
	$(BIN)/python benchmarks/soak.py $(SOAK)

test-all: $(DEV) ## Every test, the slow and large ones too, and ten times as many examples of each property
	$(BIN)/pytest --hypothesis-profile=thorough

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(DEV) ## Every benchmark, each prints a table; then the ratios at full scale, which are recorded; hours
	@failed=; for benchmark in $(BENCHMARKS) "benchmarks/ratios.py --full --record"; do \
	  echo "== $$benchmark"; $(BIN)/python $$benchmark || failed="$$failed$$benchmark; "; done; \
	test -z "$$failed" || { echo "failed, see above: $$failed"; exit 1; }

bench-quick: $(DEV) ## Ratios to peers and limits, in minutes; fails where one got worse; BENCH="--only crawl --record"
	$(BIN)/python benchmarks/ratios.py $(BENCH)

audit: $(DEV) ## What is installed is what was locked, and no advisory names it; 2 if advisories cannot be had
	$(BIN)/python tools/audit.py

lock: $(DEV) ## Resolve the dependencies to their newest versions, with hashes; what is installed for less is a part of what is tested
	$(COMPILE) --upgrade --group dev --all-extras pyproject.toml --output-file requirements-dev.lock
	$(COMPILE) -c requirements-dev.lock pyproject.toml --output-file requirements.lock
	$(COMPILE) -c requirements-dev.lock --extra scale pyproject.toml --output-file requirements-scale.lock
	$(COMPILE) -c requirements-dev.lock --extra traces pyproject.toml --output-file requirements-traces.lock
	$(COMPILE) --upgrade --group pyproject.toml:fuzz --output-file requirements-fuzz.lock

clean: ## Forget the lake and Dagster's history; sources and the sample stay
	rm -rf data/lake data/dagster data/locks data/quarantine data/search data/holocron.duckdb
	mkdir -p data/lake # an empty lake is begun anew; one that is gone is looked for

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Holocron needs Python 3.11 or newer; name one: make PYTHON=python3.12 run")'
	@echo "Setting up .venv; this takes a minute or two."
	$(PYTHON) -m venv .venv
	$(INSTALL) --require-hashes -r requirements.lock
	$(INSTALL) --no-deps --editable .
	@touch $@

.venv/.%: requirements-%.lock $(READY)
	$(INSTALL) --require-hashes -r $<
	@touch $@
