"""Speed and memory as ratios: to the plain GROUP BY of the same columns, and to peers, in one run."""
