"""Metrics and logs; the rest of the operator only calls small record functions."""
