"""Models by name: trees, naive Bayes and conjunctive rules, one kind beside the other."""
