"""`python -m cooccur` is the command line."""

from cooccur.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
