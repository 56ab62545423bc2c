"""lessonpress turns a small PyTorch model and a page of prose into a published, verifiable lesson."""

__version__ = "0.1.0"
