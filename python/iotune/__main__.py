"""`python -m iotune`: the command line without its script."""

from iotune.entry import main

if __name__ == "__main__":
    main()
