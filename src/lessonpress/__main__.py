"""`python -m lessonpress` is the command line."""

import os
import sys

from lessonpress import arrows

# pydantic looks for plugins in every installed package, at every start; we use none.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def main() -> None:
    """Do what the command line says; the option parser is imported only where there is something to parse."""
    if not arrows.plain(sys.argv[1:]):
        from lessonpress import cli

        arrows.caught(cli.app)


if __name__ == "__main__":
    main()
