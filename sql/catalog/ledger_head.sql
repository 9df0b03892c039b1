-- What the ledger says of its chain: how many entries, and the hash of the newest.
SELECT entries, head
FROM ppdm.ledger
