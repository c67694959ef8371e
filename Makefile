PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CONTACTS ?= 20000
FAST := tests/domain tests/architecture tests/client tests/clients/test_typescript_generated.py tests/mutants tests/providers tests/test_docs.py

.DEFAULT_GOAL := help
.PHONY: help install demo up web check-web test test-fast test-storage test-row-security test-api test-supabase test-typescript test-web test-wheel mutants check format typescript dist audit chaos chaos-products bench bench-full bench-peers clean

help: ## Show this list
	@if [ -t 1 ] && [ -z "$$NO_COLOR" ]; then on='\033[36m' off='\033[0m'; fi; \
		grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | \
		awk -F ':.*## ' -v on="$$on" -v off="$$off" '{printf "  %s%-14s%s %s\n", on, $$1, off, $$2}'

install: $(VENV)/.installed ## Create .venv with the tidings command

$(VENV)/.installed: requirements-install.txt requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Tidings needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing Tidings into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-install.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.installed-dev: requirements-dev.txt $(VENV)/.installed
	@echo "Installing the development tools into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-build-isolation --requirement requirements-dev.txt
	@touch $@

demo: install ## Send to some thousands, kill a worker half-way, and prove nobody was written to twice
	@$(BIN)/tidings demo

up: install ## Run the page, the API and a worker on the embedded PostgreSQL until Ctrl-C
	@$(BIN)/python -m tools.page build --if-older
	@$(BIN)/tidings up

test: $(VENV)/.installed-dev ## Run every test, on a PostgreSQL of its own
	@$(BIN)/python -m pytest -n auto --dist worksteal tests

test-fast: $(VENV)/.installed-dev ## Run what needs no PostgreSQL: the domain, the shape of the code, providers, the client (under a minute)
	@$(BIN)/python -m pytest -n auto --dist worksteal --without-postgres $(FAST)

test-storage: $(VENV)/.installed-dev ## Run the storage tests on another PostgreSQL (PG_BIN=/usr/lib/postgresql/15/bin)
	@TIDINGS_PG_BIN=$(PG_BIN) $(BIN)/python -m pytest -n auto tests/storage tests/architecture/test_statements.py tests/architecture/test_schema.py

test-row-security: $(VENV)/.installed-dev ## Run every test with row security forced (minutes; TESTS=tests/kernel for some)
	@TIDINGS_ROW_SECURITY=force $(BIN)/python -m pytest -n auto --dist worksteal $(or $(TESTS),tests)

test-api: $(VENV)/.installed-dev ## Try every boundary of every field of the HTTP API (minutes)
	@TIDINGS_TEST_API=1 $(BIN)/python -m pytest tests/http/test_description.py

test-supabase: $(VENV)/.installed-dev ## Try an existing front end's client, the real supabase-js: Node and the network (a minute)
	@TIDINGS_TEST_SUPABASE=1 $(BIN)/python -m pytest -rs tests/requirements/test_004_example.py

test-typescript: $(VENV)/.installed-dev ## Try the TypeScript client against a real server, and install its package: Node and npm (a minute)
	@TIDINGS_TEST_TYPESCRIPT=1 $(BIN)/python -m pytest -rs tests/clients

test-web: $(VENV)/.installed-dev ## Try the page in a real browser: Node, and Chromium, which it gets where it can (minutes)
	@$(BIN)/python -m tools.chromium
	@$(BIN)/python -m tools.page build
	@TIDINGS_TEST_WEB=1 $(BIN)/python -m pytest -n 2 tests/web

test-wheel: $(VENV)/.installed-dev ## Install the wheel with every extra from the package index, at today's versions (a minute, the network)
	@scratch=$$(mktemp -d) && trap 'rm -rf "$$scratch"' EXIT && $(BIN)/python -m hatchling build --target wheel --directory "$$scratch" >/dev/null 2>&1 && \
		$(PYTHON) -m venv "$$scratch/env" && "$$scratch/env/bin/pip" install --quiet --disable-pip-version-check "$$(ls "$$scratch"/*.whl)[all]" && \
		"$$scratch/env/bin/tidings" demo --people 200

mutants: $(VENV)/.installed-dev ## Take each guard away in a copy of the tree and see a test notice: minutes (ONLY=name, JOBS=)
	@$(BIN)/python -m tests.mutants $(if $(ONLY),--only $(ONLY)) $(if $(JOBS),--jobs $(JOBS))

web: $(VENV)/.installed ## Build the page into src/tidings/page: Node 20.19 or newer from PATH, or one of its own (a minute)
	@$(BIN)/python -m tools.page build

check-web: $(VENV)/.installed ## Lint, types and unit tests of web/
	@$(BIN)/python -m tools.page check

check: $(VENV)/.installed-dev ## Format, lint, types, import rules (seconds)
	@$(BIN)/ruff format --check --quiet . || { echo "run 'make format'"; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: $(VENV)/.installed-dev ## Rewrite the code in the house format
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix .

typescript: $(VENV)/.installed-dev ## Write the TypeScript client's types and methods from the description of the API
	@$(BIN)/python -m tools.typescript

dist: $(VENV)/.installed-dev web ## Build the page, the sdist, the wheel and the bill of materials (CycloneDX) of this version into dist/
	@$(BIN)/python -m tools.dist

audit: ## Ask a list of advisories about every pinned version; exits 2 and says UNCHECKED when it cannot (AUDIT_URL)
	@$(PYTHON) -m tools.audit

chaos: $(VENV)/.installed-dev ## 1,000 kills, 100 restarts, a million sends: over an hour (CHAOS_SEED= goes on, CHAOS_BACKGROUND=1)
	@$(BIN)/python -m tests.chaos.soak

chaos-products: $(VENV)/.installed-dev ## A campaign to 20,000 contacts, sequences and events: 30 kills, 3 restarts, minutes (CONTACTS=)
	@$(BIN)/python -m tests.chaos.soak --lanes 1 --minutes 15 --kills 30 --restarts 3 --sends $(CONTACTS) \
		--round-work products --round-contacts $(CONTACTS) --round-sends $$(($(CONTACTS) * 5 / 4)) --round-kills 34 --round-restarts 3

bench: $(VENV)/.installed-dev ## Kernel and products beside raw SQL, COPY and bare SMTP, in minutes (BENCH_ITEMS; python -m bench.run --help)
	@$(BIN)/python -m bench.run

bench-full: $(VENV)/.installed-dev ## All of it: ten million sleepers, a million contacts, a soak, peers (an hour)
	@$(BIN)/python -m bench.run --full

bench-peers: $(VENV)/.installed-dev ## The same work on BullMQ, Procrastinate, PgQueuer and DBOS, each installed into bench/.peers
	@$(BIN)/python -m bench.peers $(PEERS)

clean: ## Remove the virtual environment and caches (never your data directory)
	@rm -rf $(VENV) dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .chaos .supabase .node
	@rm -rf web/node_modules src/tidings/page clients/typescript/dist clients/typescript/.build clients/typescript/node_modules
