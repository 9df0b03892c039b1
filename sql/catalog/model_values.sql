-- The values that a model's branches name.  Parameter: $model_id.
SELECT node, branch, position, value
FROM ppdm.model_value
WHERE model_id = $model_id
ORDER BY node, branch, position
