"""The child process of `bench.child.apart`: it calls a function and answers with the results."""

from __future__ import annotations

import json
import sys
from importlib import import_module

from bench.child import unavailability_answered
from jetpy.study.answers import answering


def main() -> None:
    """Call the function that the only argument names."""
    answer = answering()
    module, name, arguments = json.loads(sys.argv[1])
    with unavailability_answered(answer):
        found = getattr(import_module(module), name)(*arguments)
        for result in [found] if isinstance(found, dict) else found:
            answer(result)


if __name__ == "__main__":
    main()
