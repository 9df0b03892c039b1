-- The $limit runs that were started last, newest first, each with its newest event.
WITH ppdm_numbered AS (
    SELECT run_id, seq, state, exit_code, message, happened_at,
        MIN(seq) OVER (PARTITION BY run_id) AS ppdm_first,
        ROW_NUMBER() OVER (PARTITION BY run_id ORDER BY seq DESC) AS ppdm_age
    FROM ppdm.run_event
)
SELECT r.run_id, r.statement, r.file, r.version, r.started_at, e.state, e.exit_code, e.message, e.happened_at
FROM ppdm.run AS r
JOIN ppdm_numbered AS e ON e.run_id = r.run_id
WHERE e.ppdm_age = 1
ORDER BY e.ppdm_first DESC, r.started_at DESC, r.run_id
LIMIT $limit
