-- A model that tells risk, for a bare DuckDB: duckdb my.duckdb < loans.json.sql
--     SELECT * FROM "loans_nodes";        -- the tree, one row per node
--     SELECT *, "predict_loans"("debt") FROM "my_table";        -- what each row is taken to be
-- Its arguments, in this order:
--     debt (integer)
-- Nothing is replaced: where one of these names is taken, the script makes nothing.  To undo it:
--     DROP TABLE "loans_nodes";
--     DROP MACRO "predict_loans";

BEGIN TRANSACTION;

CREATE MACRO "predict_loans"(
    "debt"
) AS
CASE WHEN "debt" < 45 THEN 'low' WHEN "debt" >= 45 THEN 'high' ELSE 'low' END;

CREATE TABLE "loans_nodes" AS
SELECT
  CAST(node AS BIGINT) AS node,
  CAST(parent AS BIGINT) AS parent,
  CAST(condition AS TEXT) AS condition,
  CAST(answer AS TEXT) AS answer,
  CAST(rows AS BIGINT) AS rows
FROM (VALUES
  (0, NULL, '', 'low', 200),
  (1, 0, 'debt < 45', 'low', 100),
  (2, 0, 'debt >= 45', 'high', 100)) AS "v"("node", "parent", "condition", "answer", "rows");

COMMIT;
