-- The schema in which a relation is made that is named without one.
SELECT CURRENT_SCHEMA() AS ppdm_schema
