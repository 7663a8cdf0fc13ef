"""`kubectl bernstein`: what people ask of runs and tasks, and tell them, in one command each.

kubectl shows objects; this shows what they mean together. It has no state and no rules of its own: it reads
with the user's credentials, asks the operator's own decisions, and writes what kubectl would write.
"""
