-- What the ledger says of its chain, how many entries and the hash of the newest; the newest entry there is; the salt.
SELECT l.entries, l.head, n.number, n.hash, s.value
FROM ppdm.ledger AS l
LEFT JOIN (
    SELECT number, hash
    FROM ppdm.ledger_entry
    WHERE number = (SELECT MAX(number) FROM ppdm.ledger_entry)
) AS n ON TRUE
LEFT JOIN ppdm.setting AS s ON s.name = 'salt'
