"""The picture of a model that somebody has at hand: `lessonpress.trace(model, *inputs)`.

Beside the worker this is the only place that meets torch, and nothing else of ours imports it: the model is the
author's own, in the author's own process, so nothing is confined.
"""

from lessonpress.notebook.tracing import Trace, trace

__all__ = ["Trace", "trace"]
