"""`python -m lessonpress` is the command line."""

import os
import sys

from lessonpress.cli import command_line

# pydantic looks for plugins in every installed package, at every start; we use none.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def main() -> None:
    """Do what the command line says."""
    command_line.main(sys.argv[1:])


if __name__ == "__main__":
    main()
