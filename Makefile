# Two commands do everything on a fresh machine: `make demo` and `make test`.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV := .venv
PYTHON := $(VENV)/bin/python
LOCKED := $(VENV)/.locked
COMPILE := $(VENV)/bin/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url \
	--no-emit-find-links --custom-compile-command "make lock" --python-version 3.11

include e2e/cluster/cluster.mk

.PHONY: help
help: ## Show what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "%-14s %s\n", $$1, $$2}'

.PHONY: venv
venv: $(LOCKED) ## Install Python's packages from the lock into .venv

$(LOCKED): requirements.lock pyproject.toml
	@.ci/venv $(VENV)
	@touch $@

.PHONY: demo
demo: venv ## Run the quickstart on a real cluster
	@$(PYTHON) -m e2e.demo

.PHONY: images
images: venv ## Build both images where what is in them changed
	@$(PYTHON) -m e2e.images

.PHONY: test
test: venv ## Run everything that CI runs: lint, unit, integration, end to end
	@.ci/test

.PHONY: lint
lint: venv ## Check style, types and the direction of imports
	@$(VENV)/bin/ruff check --quiet
	@$(VENV)/bin/ruff format --check --quiet
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports --no-logo > /dev/null || $(VENV)/bin/lint-imports

.PHONY: unit
unit: venv ## Run the tests that need no cluster
	@$(PYTHON) -m pytest -q tests/unit

.PHONY: crds
crds: venv ## Write crds/ and the API reference from the models
	@$(PYTHON) -m bernstein_operator.api.schema --output crds
	@cp crds/*.yaml charts/bernstein-operator/files/crds/
	@$(PYTHON) docs/api_reference.py

.PHONY: docs
docs: venv ## Write the reference pages that are made from the code
	@$(PYTHON) docs/reference_pages.py
	@$(PYTHON) docs/api_reference.py
	@$(PYTHON) docs/cli_reference.py

.PHONY: lock
lock: venv ## Resolve the dependencies again and write the hashed lock files
	@$(COMPILE) --extra dev --extra plugin --output-file requirements.lock pyproject.toml
	@$(COMPILE) --constraint requirements.lock --output-file requirements-operator.lock pyproject.toml
	@$(COMPILE) --constraint requirements.lock --output-file requirements-build.lock --group pyproject.toml:build
