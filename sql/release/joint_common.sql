-- How many persons (rows, where no person is known) two releases have in common, and how many of these have a row with
-- the same key in both, which is the same quasi-identifiers where both have the same columns for it.
-- Stand-ins: left_link, right_link, each with ppdm_key0, ppdm_key1, ppdm_person.  Parameter: $nobody.
SELECT
    COUNT(DISTINCT a.ppdm_person) AS ppdm_persons,
    COUNT(DISTINCT CASE WHEN a.ppdm_key0 = b.ppdm_key0 AND a.ppdm_key1 = b.ppdm_key1 THEN a.ppdm_person END) AS ppdm_same
FROM left_link AS a
JOIN right_link AS b ON a.ppdm_person = b.ppdm_person
WHERE a.ppdm_person <> $nobody
