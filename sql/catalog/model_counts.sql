-- The training rows of a model's nodes by class.  Parameter: $model_id.
SELECT node, class_number, class_value, rows
FROM ppdm.model_count
WHERE model_id = $model_id
ORDER BY node, class_number
