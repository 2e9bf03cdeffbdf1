from __future__ import annotations

import sys
from pathlib import Path

# Behind what is installed, so that jetpy is not taken from the working tree.
sys.path.append(str(Path(__file__).parents[2]))
