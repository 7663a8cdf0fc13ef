"""The scripted agent: a script's grammar, and the program that plays it."""
