"""Many projects: ``python -m tests.ordinary --seeds 0-999 --jobs 2``.

Prints a line for each project with a finding, and a summary. ``--seeds 123 --log`` shows one.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    from tests.ordinary.running import main

    sys.exit(main(sys.argv[1:]))
