"""The `backcut` command: the same program as the one that Cargo builds."""
from __future__ import annotations

import os
import shutil
import signal
import sys

from . import _backcut


def main() -> int:
    """Runs the line that this process was started with."""
    # What a cluster is told to call later: the script, not the interpreter that runs it.
    is_module = os.path.basename(sys.argv[0]) == "__main__.py"
    program = shutil.which("backcut" if is_module else sys.argv[0]) or sys.argv[0]
    # The command catches what it can stop for, and otherwise ends at once; Python's own handler
    # would wait until the command returns.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _backcut.run([os.path.abspath(program), *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
