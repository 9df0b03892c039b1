-- A setting of the session, changed until the session ends.
-- Parameters: $name, $value.
SELECT pg_catalog.set_config($name, $value, FALSE) AS ppdm_value
