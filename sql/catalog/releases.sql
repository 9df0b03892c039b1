-- All that is known of the chosen releases, newest first; one row per source of a release.
-- Stand-in: chosen (release_id, state, seq, is_named: whether it is the release of a name that was asked for).
SELECT r.release_id, r.run_id, r.schema_name, r.relation_name, r.kind, r.algorithm, r.options, r.seed,
    r.requirements, r.roles, r.source_query, r.policy_text, r.storage, r.key_columns, r.k_promised, r.rows,
    r.classes, r.suppressed_rows, r.content_hash, r.columns, r.manifest, r.manifest_sha256, r.version,
    r.published_at, c.state, c.is_named, o.source
FROM chosen AS c
JOIN ppdm.release AS r ON r.release_id = c.release_id
LEFT JOIN ppdm.release_source AS o ON o.release_id = r.release_id
ORDER BY c.seq DESC, r.published_at DESC, r.release_id, o.source
