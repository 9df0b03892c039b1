-- The models that are there, in order of name: saved, and since then neither replaced nor dropped.
-- Parameter: $name, or NULL for all.
SELECT m.model_id, m.name, m.kind, m.inducer, m.options, m.target, m.attributes, m.classes, m.body, m.source_query,
    m.rows, m.left_out, m.rare, m.version, m.saved_at, COALESCE(n.nodes, 0) AS nodes, COALESCE(n.leaves, 0) AS leaves
FROM ppdm.model AS m
JOIN (
    SELECT model_id
    FROM ppdm.model_event
    GROUP BY model_id
    HAVING COUNT(CASE WHEN event = 'saved' THEN 1 END) > 0
        AND COUNT(CASE WHEN event IN ('replaced', 'dropped') THEN 1 END) = 0
) AS e ON e.model_id = m.model_id
LEFT JOIN (
    SELECT model_id, COUNT(*) AS nodes, COUNT(CASE WHEN attribute IS NULL THEN 1 END) AS leaves
    FROM ppdm.model_node
    GROUP BY model_id
) AS n ON n.model_id = m.model_id
WHERE CAST($name AS TEXT) IS NULL OR m.name = CAST($name AS TEXT)
ORDER BY m.name, m.generation DESC
