"""What makes one number of many: sums, means, extremes, norms, running sums, order and losses."""
