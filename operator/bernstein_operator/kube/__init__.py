"""The only door to the API server: requests, lists, watches and events. Nothing else talks to it."""
