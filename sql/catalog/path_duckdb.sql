-- The schemas in which a relation without a schema is looked for.
SELECT UNNEST(CURRENT_SCHEMAS(FALSE)) AS ppdm_schema
