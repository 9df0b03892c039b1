-- The number of the next event: one more than the highest so far, whatever the clock says.
-- Stand-in: events.
SELECT COALESCE(MAX(seq), 0) + 1 AS ppdm_next
FROM events
