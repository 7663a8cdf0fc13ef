# The targets of the cluster harness; PYTHON is a Python with the project's development dependencies.
PYTHON ?= .venv/bin/python

.PHONY: tools cluster cluster-down

tools: ## build Kubernetes and its helpers from source, once a machine
	@$(PYTHON) -m e2e.cluster build >&2

cluster: ## find or start a cluster; stdout is its kubeconfig's path
	@$(PYTHON) -m e2e.cluster up

cluster-down: ## take away every cluster that `make cluster` started
	@$(PYTHON) -m e2e.cluster down
