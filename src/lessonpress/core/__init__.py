"""Ground work that knows nothing of lessons: errors, settings, JSON, files, YAML with lines, locks, git."""
