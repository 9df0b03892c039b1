-- The points of an evaluation in the order of its grid, each as it was measured first.  Parameter: $evaluation_id.
WITH ppdm_numbered AS (
    SELECT point_id, ROW_NUMBER() OVER (PARTITION BY position ORDER BY finished_at, point_id) AS ppdm_turn
    FROM ppdm.evaluation_point
    WHERE evaluation_id = $evaluation_id
)
SELECT p.position, p.status, p.reason, p.algorithm, p.requirements, p.k, p.statement, p.holds, p.rows,
    p.suppressed_rows, p.classes, p.suppressed_cells, p.information_loss, p.discernibility, p.classification_metric,
    p.risk_max, p.risk_mean, p.tested, p.accuracy, p.accuracy_spread, p.auc, p.r_squared, p.folds,
    p.workload_error, p.workload_answered, p.seconds, p.finished_at
FROM ppdm.evaluation_point AS p
JOIN ppdm_numbered AS n ON n.point_id = p.point_id
WHERE n.ppdm_turn = 1
ORDER BY p.position
