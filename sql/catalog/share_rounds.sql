-- What this site reported in rounds of private counting, oldest first.
SELECT round, subject, site, codebook, shape, k, sites, attributes, rows, numbers, content_hash
FROM ppdm.share_round
ORDER BY reported_at, entry_id
