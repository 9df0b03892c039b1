-- The migrations this database has seen, each with the salt of the database where that was drawn.
SELECT m.number, m.name, m.sha256, m.applied_at, m.version, s.value
FROM ppdm.migration AS m
LEFT JOIN ppdm.setting AS s ON s.name = 'salt'
ORDER BY m.number
