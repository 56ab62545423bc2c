"""`python -m lessonpress` is the command line."""

from lessonpress.cli import main

if __name__ == "__main__":
    main()
