"""``python -m jetpy`` is the program ``jetpy``."""

from jetpy.cli import main

if __name__ == "__main__":
    main(prog_name="jetpy")
