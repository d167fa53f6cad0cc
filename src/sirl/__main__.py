"""``python -m sirl`` is the command ``sirl``."""

import sys

from sirl.cli import main

sys.exit(main())
