"""The worker: builds a lesson's model, runs it once for each planned run, and tells what happened.

Stand-alone: it needs torch and numpy and nothing else of ours, because it is shipped verbatim in every revision folder
and a reader's `run.py --compare` repeats the run with it.
"""

# A reader has no use for what tries a bundle beforehand, nor for what draws models that are no lessons.
NOT_SHIPPED = frozenset({"rehearsal.py", "elsewhere.py", "outline.py"})
