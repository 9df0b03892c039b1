"""Several sources, one model: each publishes a model file, nobody sees another's rows."""
