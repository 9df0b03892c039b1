-- The branches of a model's nodes.  Parameter: $model_id.
SELECT node, branch, child, condition, takes_null, takes_others, label
FROM ppdm.model_branch
WHERE model_id = $model_id
ORDER BY node, branch
