"""``python -m sirl`` is the command ``sirl``."""

import sys

from sirl.cli.main import main

sys.exit(main())
