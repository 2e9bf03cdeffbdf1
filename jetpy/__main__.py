"""``python -m jetpy`` is the program ``jetpy``."""

from jetpy.cli.signals import main

if __name__ == "__main__":
    main()
