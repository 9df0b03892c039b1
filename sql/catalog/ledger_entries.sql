-- The entries of the chain from the newest seal on, oldest first.
SELECT number, release_id, rows, reason, previous, hash, written_at
FROM ppdm.ledger_entry
WHERE number >= (SELECT COALESCE(MAX(number), 0) FROM ppdm.ledger_entry WHERE release_id IS NULL)
ORDER BY number
