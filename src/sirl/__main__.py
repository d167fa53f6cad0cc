"""``python -m sirl`` is the command ``sirl``."""

import os
import sys
from contextlib import suppress

with suppress(FileNotFoundError):  # the working directory was deleted
    if sys.path[0] == os.getcwd():  # as Python has it with -m: whatever lies there would be imported
        del sys.path[0]

from sirl.cli.main import main

sys.exit(main())
