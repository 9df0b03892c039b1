"""A release as files: written, certified, and opened again by a recipient who has nothing else."""
