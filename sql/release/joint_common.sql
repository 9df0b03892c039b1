-- How many persons (rows, where no person is known) two releases have in common.
-- Stand-ins: left_link, right_link, each with ppdm_person.  Parameter: $nobody.
SELECT COUNT(DISTINCT a.ppdm_person) AS ppdm_persons
FROM left_link AS a
JOIN right_link AS b ON a.ppdm_person = b.ppdm_person
WHERE a.ppdm_person <> $nobody
