"""The finished tree: printed, drawn, kept, exchanged, audited, applied."""
