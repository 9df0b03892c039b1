-- Equivalence classes of fewer than $k persons.  No row returned = the relation is k-anonymous by person.
-- One person with twelve rows is one person.  A row without a person (NULL) counts for nobody.
-- Stand-ins: source, quasi, entity.  Parameter: $k.
SELECT quasi, COUNT(DISTINCT entity) AS ppdm_entities, COUNT(*) AS ppdm_size
FROM source
GROUP BY quasi
HAVING COUNT(DISTINCT entity) < $k
