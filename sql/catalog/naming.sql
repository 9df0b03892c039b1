-- Which letters count as the same in names: two strings for TRANSLATE, empty where case matters.
-- The engine itself is asked, because it can be a setting: where case is ignored, "Letter" is the near
-- column, where it matters, only the far one.  Only A to Z: no engine folds more in every name.
SELECT CASE WHEN ppdm_probe = 1 THEN 'ABCDEFGHIJKLMNOPQRSTUVWXYZ' ELSE '' END AS capitals,
    CASE WHEN ppdm_probe = 1 THEN 'abcdefghijklmnopqrstuvwxyz' ELSE '' END AS smalls
FROM (
    SELECT (SELECT "Letter" FROM (SELECT 1 AS "letter") AS ppdm_near) AS ppdm_probe
    FROM (SELECT 0 AS "Letter") AS ppdm_far
) AS ppdm_probed
