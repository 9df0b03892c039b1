-- Whether a model file is, to the byte, the one that was measured; a file that is not there is not.
-- Parameters: $file, its name; $sha256, the hash in the manifest.
SELECT
    'the file is the one that was measured' AS requirement,
    CASE
        WHEN COUNT(*) = 1 AND MIN(SHA256(content)) = $sha256 THEN 'holds'
        ELSE 'BREACHED'
    END AS verdict
FROM READ_TEXT($file)
