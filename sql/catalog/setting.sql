-- The value of a setting.  Without a key two processes can both have set it; the first counts.
-- Parameter: $name.
SELECT value
FROM ppdm.setting
WHERE name = $name
ORDER BY set_at, value
LIMIT 1
