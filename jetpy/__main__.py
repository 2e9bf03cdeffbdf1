"""``python -m jetpy`` is the program ``jetpy``."""

from jetpy.entry import main

if __name__ == "__main__":
    main()
