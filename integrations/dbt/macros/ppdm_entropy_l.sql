{# Made from sql/checks/entropy_diversity.sql by python -m integrations.generate #}
{# Equivalence classes whose sensitive values have an entropy below ln(l).  No row returned = entropy l-diverse. #}
{# Entropy of n known values with counts c: ln(n) - sum(c * ln(c)) / n; a class without a known value is returned. #}
{# Only known values count; with $null_is_value = 1 instead of 0 a NULL is a value of its own. #}
{# A class of equally frequent values has entropy ln(number of values) exactly, and is decided by that number; so is #}
{# a class without a known value, which has 0 of them. #}
{# For others logarithms are rounded: a class nearer to ln(l) than $tolerance passes; give 1e-9.  (Python's #}
{# ppdm_sql.checks.breaches gives a negative tolerance and decides the few classes in doubt by ppdm_counts, #}
{# in whole numbers.) #}
{# l is a fraction: for l = 2.5 give $l_numerator = 5 and $l_denominator = 2. #}
{# $null_is_value. #}
{% test ppdm_entropy_l(model, quasi, sensitive, l, null_is_value=0, tolerance=1e-9) %}
{{ adapter.dispatch('ppdm_entropy_l', 'ppdm')(model, quasi, sensitive, l, null_is_value, tolerance) }}
{% endtest %}

{% macro default__ppdm_entropy_l(model, quasi, sensitive, l, null_is_value, tolerance) %}
WITH ppdm_cells AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    COUNT(*) AS ppdm_rows,
    CASE
      WHEN NOT ppdm_sensitive IS NULL OR {{ ppdm.number(null_is_value) }} = 1
      THEN COUNT(*)
      ELSE 0
    END AS ppdm_count
  FROM {{ ppdm.source(model, quasi, sensitive=sensitive) }} AS ppdm_source
  GROUP BY
    {{ ppdm.columns(quasi) }},
    ppdm_sensitive
)
SELECT
  {{ ppdm.columns(quasi) }},
  SUM(ppdm_rows) AS ppdm_size,
  STRING_AGG(CAST(NULLIF(ppdm_count, 0) AS TEXT), ',') AS ppdm_counts,
  LN(CAST(NULLIF(SUM(ppdm_count), 0) AS DOUBLE PRECISION)) - SUM(ppdm_count * LN(CAST(NULLIF(ppdm_count, 0) AS DOUBLE PRECISION))) / CAST(NULLIF(SUM(ppdm_count), 0) AS DOUBLE PRECISION) AS ppdm_entropy
FROM ppdm_cells
GROUP BY
  {{ ppdm.columns(quasi) }}
HAVING
  CASE
    WHEN COUNT(NULLIF(ppdm_count, 0)) * MAX(ppdm_count) = SUM(ppdm_count)
    THEN COUNT(NULLIF(ppdm_count, 0)) * {{ ppdm.fraction(l)[1] }} < {{ ppdm.fraction(l)[0] }}
    ELSE LN(CAST(SUM(ppdm_count) AS DOUBLE PRECISION)) - SUM(ppdm_count * LN(CAST(NULLIF(ppdm_count, 0) AS DOUBLE PRECISION))) / CAST(SUM(ppdm_count) AS DOUBLE PRECISION) < LN(
      CAST({{ ppdm.fraction(l)[0] }} AS DOUBLE PRECISION) / CAST({{ ppdm.fraction(l)[1] }} AS DOUBLE PRECISION)
    ) - CAST({{ ppdm.number(tolerance) }} AS DOUBLE PRECISION)
  END
{% endmacro %}

{% macro duckdb__ppdm_entropy_l(model, quasi, sensitive, l, null_is_value, tolerance) %}
WITH ppdm_cells AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    COUNT(*) AS ppdm_rows,
    CASE
      WHEN NOT ppdm_sensitive IS NULL OR {{ ppdm.number(null_is_value) }} = 1
      THEN COUNT(*)
      ELSE 0
    END AS ppdm_count
  FROM {{ ppdm.source(model, quasi, sensitive=sensitive) }} AS ppdm_source
  GROUP BY
    {{ ppdm.columns(quasi) }},
    ppdm_sensitive
)
SELECT
  {{ ppdm.columns(quasi) }},
  SUM(ppdm_rows) AS ppdm_size,
  LISTAGG(CAST(NULLIF(ppdm_count, 0) AS TEXT), ',') AS ppdm_counts,
  LN(CAST(NULLIF(SUM(ppdm_count), 0) AS DOUBLE)) - SUM(ppdm_count * LN(CAST(NULLIF(ppdm_count, 0) AS DOUBLE))) / CAST(NULLIF(SUM(ppdm_count), 0) AS DOUBLE) AS ppdm_entropy
FROM ppdm_cells
GROUP BY
  {{ ppdm.columns(quasi) }}
HAVING
  CASE
    WHEN COUNT(NULLIF(ppdm_count, 0)) * MAX(ppdm_count) = SUM(ppdm_count)
    THEN COUNT(NULLIF(ppdm_count, 0)) * {{ ppdm.fraction(l)[1] }} < {{ ppdm.fraction(l)[0] }}
    ELSE LN(CAST(SUM(ppdm_count) AS DOUBLE)) - SUM(ppdm_count * LN(CAST(NULLIF(ppdm_count, 0) AS DOUBLE))) / CAST(SUM(ppdm_count) AS DOUBLE) < LN(
      CAST({{ ppdm.fraction(l)[0] }} AS DOUBLE) / CAST({{ ppdm.fraction(l)[1] }} AS DOUBLE)
    ) - CAST({{ ppdm.number(tolerance) }} AS DOUBLE)
  END
{% endmacro %}

{% macro spark__ppdm_entropy_l(model, quasi, sensitive, l, null_is_value, tolerance) %}
WITH ppdm_cells AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    COUNT(*) AS ppdm_rows,
    CASE
      WHEN NOT ppdm_sensitive IS NULL OR {{ ppdm.number(null_is_value) }} = 1
      THEN COUNT(*)
      ELSE 0
    END AS ppdm_count
  FROM {{ ppdm.source(model, quasi, sensitive=sensitive) }} AS ppdm_source
  GROUP BY
    {{ ppdm.columns(quasi) }},
    ppdm_sensitive
)
SELECT
  {{ ppdm.columns(quasi) }},
  SUM(ppdm_rows) AS ppdm_size,
  LISTAGG(CAST(NULLIF(ppdm_count, 0) AS STRING), ',') AS ppdm_counts,
  LN(CAST(NULLIF(SUM(ppdm_count), 0) AS DOUBLE)) - SUM(ppdm_count * LN(CAST(NULLIF(ppdm_count, 0) AS DOUBLE))) / CAST(NULLIF(SUM(ppdm_count), 0) AS DOUBLE) AS ppdm_entropy
FROM ppdm_cells
GROUP BY
  {{ ppdm.columns(quasi) }}
HAVING
  CASE
    WHEN COUNT(NULLIF(ppdm_count, 0)) * MAX(ppdm_count) = SUM(ppdm_count)
    THEN COUNT(NULLIF(ppdm_count, 0)) * {{ ppdm.fraction(l)[1] }} < {{ ppdm.fraction(l)[0] }}
    ELSE LN(CAST(SUM(ppdm_count) AS DOUBLE)) - SUM(ppdm_count * LN(CAST(NULLIF(ppdm_count, 0) AS DOUBLE))) / CAST(SUM(ppdm_count) AS DOUBLE) < LN(
      CAST({{ ppdm.fraction(l)[0] }} AS DOUBLE) / CAST({{ ppdm.fraction(l)[1] }} AS DOUBLE)
    ) - CAST({{ ppdm.number(tolerance) }} AS DOUBLE)
  END
{% endmacro %}
