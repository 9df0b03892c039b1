"""Models by name: trees, naive Bayes and conjunctive rules."""
