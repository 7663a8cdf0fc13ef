"""The rules, one file each. Pure: a frozen snapshot and ``now`` in, frozen values out, no side effects."""
