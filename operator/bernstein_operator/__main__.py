"""``python -m bernstein_operator`` is ``bernstein-operator``."""

import sys

from bernstein_operator.main import main

sys.exit(main())
