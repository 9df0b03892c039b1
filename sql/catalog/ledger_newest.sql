-- The newest entry of the chain.
SELECT number, hash
FROM ppdm.ledger_entry
ORDER BY number DESC
LIMIT 1
