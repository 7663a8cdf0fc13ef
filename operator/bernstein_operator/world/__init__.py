"""What the cluster looks like now, kept so that a question costs what it asks for, not what exists."""
