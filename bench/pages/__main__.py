"""Write tables and sentences of the documentation again from the files in `bench/studies`."""

from __future__ import annotations

import argparse

from bench.pages.claims import SENTENCES
from bench.pages.marked import pages, updated
from bench.pages.table import ROOT
from bench.tables import note


def main() -> None:
    """Write the pages that differ, or with `--check` only name them."""
    parser = argparse.ArgumentParser(prog="python -m bench.pages", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="name the pages that differ, but do not write them"
    )
    options = parser.parse_args()
    different = 0
    for page in pages():
        before = page.read_text(encoding="utf-8")
        after = updated(before)
        for sentence in SENTENCES:
            if sentence.page == page.relative_to(ROOT).as_posix():
                after = sentence.updated(after)
        if after != before:
            different += 1
            note(f"{page.relative_to(ROOT)} differs")
            if not options.check:
                page.write_text(after, encoding="utf-8")
    raise SystemExit(f"{different} pages differ" if options.check and different else 0)


if __name__ == "__main__":
    main()
