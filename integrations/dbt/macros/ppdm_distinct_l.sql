{# Made from sql/checks/distinct_diversity.sql by python -m integrations.generate #}
{# Equivalence classes with fewer than $l different sensitive values.  No row returned = distinct l-diverse. #}
{# Only known values count; with $null_is_value = 1 instead of 0 a NULL is a value of its own. #}
{% test ppdm_distinct_l(model, quasi, sensitive, l, null_is_value=0) %}
{{ adapter.dispatch('ppdm_distinct_l', 'ppdm')(model, quasi, sensitive, l, null_is_value) }}
{% endtest %}

{% macro default__ppdm_distinct_l(model, quasi, sensitive, l, null_is_value) %}
WITH ppdm_counts AS (
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
  COUNT(NULLIF(ppdm_count, 0)) AS ppdm_distinct
FROM ppdm_counts
GROUP BY
  {{ ppdm.columns(quasi) }}
HAVING
  COUNT(NULLIF(ppdm_count, 0)) < {{ ppdm.number(l) }}
{% endmacro %}

{% macro duckdb__ppdm_distinct_l(model, quasi, sensitive, l, null_is_value) %}
WITH ppdm_counts AS (
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
  COUNT(NULLIF(ppdm_count, 0)) AS ppdm_distinct
FROM ppdm_counts
GROUP BY
  {{ ppdm.columns(quasi) }}
HAVING
  COUNT(NULLIF(ppdm_count, 0)) < {{ ppdm.number(l) }}
{% endmacro %}

{% macro spark__ppdm_distinct_l(model, quasi, sensitive, l, null_is_value) %}
WITH ppdm_counts AS (
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
  COUNT(NULLIF(ppdm_count, 0)) AS ppdm_distinct
FROM ppdm_counts
GROUP BY
  {{ ppdm.columns(quasi) }}
HAVING
  COUNT(NULLIF(ppdm_count, 0)) < {{ ppdm.number(l) }}
{% endmacro %}
