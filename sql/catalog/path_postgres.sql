-- The user's search path: as it was set, and the schemas of it that exist and may be used.
SELECT pg_catalog.current_setting('search_path') AS ppdm_setting,
       pg_catalog.current_schemas(FALSE) AS ppdm_schemas
