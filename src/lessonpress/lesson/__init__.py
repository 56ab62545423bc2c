"""A lesson as its author wrote it: the recipe, its files, the plan of runs, what validation says."""
