"""The kinds of releases: one file each, found through registry.py."""
