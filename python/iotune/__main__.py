"""`python -m iotune`: the command line without its script."""

from iotune.cli import main

if __name__ == "__main__":
    main()
