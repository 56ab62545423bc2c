"""The commands: for rules, for curators, for authors."""
