-- The rows of one side that no row of the same key on the other side stands for.
-- Where it is not known whose rows they are ($known is false), all are taken for rows of one and the same person.
-- Stand-ins: this_side, other_side, each (ppdm_key0, ppdm_key1, ppdm_person, ppdm_part, ppdm_least, ppdm_most,
-- ppdm_all), the last one being the rows of the key in all its classes.
-- Parameter: $known.
WITH ppdm_other AS (
    SELECT DISTINCT ppdm_key0, ppdm_key1, ppdm_all FROM other_side
)
SELECT
    a.ppdm_key0,
    a.ppdm_key1,
    CASE WHEN CAST($known AS BOOLEAN) THEN a.ppdm_person ELSE 0 END AS ppdm_person,
    a.ppdm_part,
    GREATEST(a.ppdm_least - COALESCE(b.ppdm_all, 0), 0) AS ppdm_least,
    LEAST(a.ppdm_most, a.ppdm_all - COALESCE(b.ppdm_all, 0)) AS ppdm_most,
    a.ppdm_all - COALESCE(b.ppdm_all, 0) AS ppdm_all
FROM this_side AS a
LEFT JOIN ppdm_other AS b ON a.ppdm_key0 = b.ppdm_key0 AND a.ppdm_key1 = b.ppdm_key1
WHERE a.ppdm_all > COALESCE(b.ppdm_all, 0)
