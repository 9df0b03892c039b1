-- Equivalence classes of fewer than $k rows.  No row returned = the relation is k-anonymous.
-- NULL is a value of its own: GROUP BY puts the NULLs of a column together.
-- Stand-ins: source, quasi.  Parameter: $k.
SELECT quasi, COUNT(*) AS ppdm_size
FROM source
GROUP BY quasi
HAVING COUNT(*) < $k
