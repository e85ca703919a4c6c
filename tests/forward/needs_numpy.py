"""Imported before numpy: goes on with the system's Python where this one has no numpy; skips the test (77) where
neither has."""
import os
import sys

try:
    import numpy  # noqa: F401
except ImportError:
    system = '/usr/bin/python3'  # Debian's packages are of this one
    if sys.executable != system and os.access(system, os.X_OK):
        os.execv(system, [system, *sys.argv])
    print('skipped: no numpy')
    sys.exit(77)
