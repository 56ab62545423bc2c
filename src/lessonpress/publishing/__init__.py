"""What writes the published site, and what compares with it."""
