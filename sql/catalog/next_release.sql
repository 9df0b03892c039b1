-- What the next release of a name needs: its schema, the how-manieth of its name it is, and the number of its event.
-- Numbers are one more than the highest so far, whatever the clock says.
-- Parameters: $schema (NULL: the one in which a relation is made that is named without one), $relation.
SELECT p.ppdm_schema,
    (SELECT COALESCE(MAX(r.generation), 0) + 1
     FROM ppdm.release AS r
     WHERE r.schema_name = p.ppdm_schema AND r.relation_name = CAST($relation AS TEXT)) AS ppdm_generation,
    (SELECT COALESCE(MAX(e.seq), 0) + 1 FROM ppdm.release_event AS e) AS ppdm_event
FROM (SELECT COALESCE(CAST($schema AS TEXT), CURRENT_SCHEMA()) AS ppdm_schema) AS p
