"""A lesson from its source to its rendered revision, one module for each step."""
