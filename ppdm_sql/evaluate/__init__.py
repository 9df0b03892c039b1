"""What the protection costs: folds, learners, measures, comparisons, and the papers' own tables."""
