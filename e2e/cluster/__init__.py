"""Real Kubernetes for tests and the demo: finds a cluster, or builds one from source.

`ControlPlane` is for tests at the level of the API; `up` and `find` are for those that need real nodes.
"""
