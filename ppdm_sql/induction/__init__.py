"""Trees grown from counts: the rows stay in the database."""
