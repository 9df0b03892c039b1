-- The classes of a relation with their sizes.
-- Stand-ins: source, quasi.
SELECT quasi, COUNT(*) AS ppdm_size
FROM source
GROUP BY quasi
