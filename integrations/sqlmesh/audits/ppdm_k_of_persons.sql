-- Made from sql/checks/undersized_classes_by_entity.sql by python -m integrations.generate
-- Equivalence classes of fewer than $k persons.  No row returned = the relation is k-anonymous by person.
-- One person with twelve rows is one person.  A row without a person (NULL) counts for nobody.
AUDIT (
  name ppdm_k_of_persons,
  dialect duckdb
);
SELECT
  @EACH(@quasi, c -> c),
  COUNT(DISTINCT ppdm_entity) AS ppdm_entities,
  COUNT(*) AS ppdm_size
FROM (SELECT @EACH(@quasi, c -> c), @entity AS ppdm_entity FROM @this_model) AS ppdm_source
GROUP BY
  @EACH(@quasi, c -> c)
HAVING
  COUNT(DISTINCT ppdm_entity) < @k
;
