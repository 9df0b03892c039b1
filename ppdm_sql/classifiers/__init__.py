"""Models learned from counts that predict as SQL: naive Bayes, conjunctive rules, and votes over several models."""
