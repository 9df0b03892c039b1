-- Classes whose rows have fewer than $k different values of an identifier, and the rows in them.
-- Rows without a value count one each: nothing says that they are of one person.
-- Classes of fewer than $least rows are left out: a policy without k allows them.
-- Stand-ins: source, quasi, identifier.  Parameters: $k, $least.
WITH ppdm_class AS (
    SELECT
        quasi,
        COUNT(*) AS ppdm_size,
        COUNT(DISTINCT identifier) + COUNT(*) - COUNT(identifier) AS ppdm_values
    FROM source
    GROUP BY quasi
)
SELECT COUNT(*) AS ppdm_classes, COALESCE(SUM(ppdm_size), 0) AS ppdm_rows
FROM ppdm_class
WHERE ppdm_values < $k AND ppdm_size >= $least
