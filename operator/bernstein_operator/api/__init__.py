"""The vocabulary that every other package speaks: kinds, names, phases, reasons. No I/O in here."""
