-- Functions that give another value in the next statement, and the macros with their texts, which may call one.
SELECT DISTINCT LOWER(function_name) AS ppdm_name, CASE WHEN NOT internal THEN macro_definition END AS ppdm_macro
FROM duckdb_functions()
WHERE stability IN ('VOLATILE', 'CONSISTENT_WITHIN_QUERY') OR (function_type = 'macro' AND NOT internal)
