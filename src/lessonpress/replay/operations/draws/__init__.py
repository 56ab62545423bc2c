"""A family of operations; its files are named in operations/__init__.py."""
