"""Entry point of ``python -m jetpy``, the same as the command ``jetpy``."""

from jetpy.cli.signals import main

if __name__ == "__main__":
    main()
