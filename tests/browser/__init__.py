"""Tests that open pages in a browser."""
