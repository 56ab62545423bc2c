"""The same elements under another shape, joined, parted, repeated or turned round."""
