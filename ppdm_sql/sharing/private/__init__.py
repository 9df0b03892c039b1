"""Counts of several sites are added up without anybody seeing one site's; what is opened is their sum."""
