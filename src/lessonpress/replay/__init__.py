"""The published graph carried out again, in numpy and in the page's JavaScript."""
