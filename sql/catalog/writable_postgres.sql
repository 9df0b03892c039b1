-- Whether this session can write: not on a standby, not where the role or the database is read-only.
SELECT NOT PG_IS_IN_RECOVERY() AND CURRENT_SETTING('transaction_read_only') = 'off' AS ppdm_writable
