from __future__ import annotations

import sys
from pathlib import Path

# After the installed packages, so that jetpy is not imported from the working tree.
sys.path.append(str(Path(__file__).parents[2]))
