"""`python -m opweave`: see `opweave.command_line`."""

import sys

from opweave.command_line import main

sys.exit(main())
