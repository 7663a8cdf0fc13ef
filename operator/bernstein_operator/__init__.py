"""A Kubernetes operator that runs fleets of AI coding agents as Pods under hard limits."""

from importlib.metadata import version

__version__ = version("bernstein-operator")
