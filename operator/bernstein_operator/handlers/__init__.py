"""kopf's part: the process's shell, and the ear for our own three kinds. No rule is in here.

kopf tells of every change of a run, task or profile; a handler hands the object to the world and that is
all. There is no index, timer, daemon, finalizer or change handler: each costs writes to every object and
fails in ways that a level-triggered loop doesn't (docs/design/0001-kopfs-part.md has the numbers).
"""
