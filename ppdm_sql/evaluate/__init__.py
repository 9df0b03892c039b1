"""What the protection costs: folds, learners, measures, comparisons."""
