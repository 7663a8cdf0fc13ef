"""The part of Bernstein that runs inside an agent's Pod, and the contract that both sides share.

It is copied as one zipapp into whatever image an agent brings along, so it needs nothing but Python and
git. This file and ``__main__`` must be readable by any Python 3: they are what tells the owner of an image
that its Python is too old.
"""

__version__ = "0.1.0"
