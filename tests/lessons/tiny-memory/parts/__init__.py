"""Parts of the model."""
