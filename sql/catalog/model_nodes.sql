-- The nodes of a model.  Parameter: $model_id.
SELECT node, parent, depth, attribute, attribute_name, threshold, rows, answer, variance, gain
FROM ppdm.model_node
WHERE model_id = $model_id
ORDER BY node
