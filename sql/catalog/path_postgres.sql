-- The user's search path: as it was set, and the schemas of it that exist and may be used.
SELECT pg_catalog.current_setting('search_path') AS ppdm_setting,
       CAST(pg_catalog.current_schemas(FALSE) AS TEXT[]) AS ppdm_schemas
