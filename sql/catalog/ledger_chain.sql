-- What the ledger says of its chain, how many entries and the hash of the newest; the salt; how many rows the ledger
-- has; the schema and the number of the event that a release made now gets.  One row per entry from the newest seal on,
-- oldest first; one row where there is no entry.
SELECT l.entries, l.head, s.value, (SELECT COUNT(*) FROM ppdm.ledger) AS ppdm_ledgers,
    CURRENT_SCHEMA() AS ppdm_schema,
    (SELECT COALESCE(MAX(v.seq), 0) + 1 FROM ppdm.release_event AS v) AS ppdm_event,
    e.number, e.release_id, e.rows, e.reason, e.previous, e.hash, e.written_at
FROM ppdm.ledger AS l
LEFT JOIN ppdm.setting AS s ON s.name = 'salt'
LEFT JOIN ppdm.ledger_entry AS e
    ON e.number >= (SELECT COALESCE(MAX(o.number), 0) FROM ppdm.ledger_entry AS o WHERE o.release_id IS NULL)
ORDER BY e.number
