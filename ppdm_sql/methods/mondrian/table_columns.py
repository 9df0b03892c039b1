"""Columns of a partition's working tables."""

N, WEIGHT, VALUE, OTHER = "ppdm_n", "ppdm_w", "ppdm_v", "ppdm_o"
START = "ppdm_start"  # of rows that are alike: the rank of the first one that is here
KNOWN, SUM, SQUARES = "ppdm_m", "ppdm_y", "ppdm_yy"  # of a numeric target: rows that have it, sum, sum of squares
