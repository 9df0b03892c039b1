-- The counts of a model file: one row per node and class that has rows.
-- Parameter: $file, its name.
WITH ppdm_listed AS (
    SELECT UNNEST(CAST(JSON_EXTRACT(content, '$.model.nodes') AS JSON[])) AS ppdm_node
    FROM READ_TEXT($file)
), ppdm_split AS (
    SELECT
        CAST(JSON_EXTRACT(ppdm_node, '$.number') AS BIGINT) AS ppdm_number,
        CAST(JSON_EXTRACT(ppdm_node, '$.parent') AS BIGINT) AS ppdm_parent,
        JSON_EXTRACT(ppdm_node, '$.split') IS NULL AS ppdm_is_leaf,
        CAST(JSON_EXTRACT(ppdm_node, '$.counts') AS BIGINT[]) AS ppdm_counts
    FROM ppdm_listed
)
SELECT
    ppdm_number,
    ppdm_parent,
    ppdm_is_leaf,
    UNNEST(RANGE(LEN(ppdm_counts))) AS ppdm_class,
    UNNEST(ppdm_counts) AS ppdm_rows
FROM ppdm_split
