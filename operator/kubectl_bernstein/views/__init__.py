"""What each command shows, as values: pure functions from objects to something that can be printed."""
