-- The statement that puts a function of a relation's own name in front of it.  A reader's plan ends at the call:
-- PL/pgSQL is not inlined, so no condition, count or estimate of the reader gets below it.
-- The settings are those of the publisher, whatever the reader's session says.  Messages and errors of the rows behind
-- it can quote them, so none passes.  Everybody can read the text of a function: it holds names and nothing else.
-- Parameters: $schema, $name.
SELECT FORMAT('CREATE FUNCTION %1$I.%2$I() RETURNS SETOF %1$I.%2$I
LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL UNSAFE COST 100 ROWS 1000
SET search_path = pg_catalog, pg_temp
SET client_min_messages = error
SET debug_print_parse = off
SET debug_print_rewritten = off
SET debug_print_plan = off
SET row_security = on
SET "TimeZone" FROM CURRENT
SET "DateStyle" FROM CURRENT
SET "IntervalStyle" FROM CURRENT
SET extra_float_digits FROM CURRENT
SET bytea_output FROM CURRENT
SET lc_monetary FROM CURRENT
SET lc_numeric FROM CURRENT
SET lc_time FROM CURRENT
AS $ppdm$
BEGIN
    RETURN QUERY SELECT * FROM %1$I.%2$I;
EXCEPTION WHEN OTHERS THEN
    RAISE EXCEPTION ''the release cannot be read now: VERIFY tells its publisher why'';
END
$ppdm$', CAST($schema AS TEXT), CAST($name AS TEXT)) AS ppdm_statement
