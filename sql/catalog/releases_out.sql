-- The releases that somebody may still hold.
SELECT release_id, state, seq
FROM ppdm.release_state
WHERE is_out
