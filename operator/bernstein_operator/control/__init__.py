"""The loop: gather a snapshot, decide, write, and only then tell. Nothing here knows a rule."""
