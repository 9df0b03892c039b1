{# Made from sql/checks/simple_diversity.sql by python -m integrations.generate #}
{# Equivalence classes in which the most frequent sensitive value has more than 1/l of the known ones. #}
{# No row returned = simple l-diverse: head * l <= known in every class, and some value is known. #}
{# Only known values count; with $null_is_value = 1 instead of 0 a NULL is a value of its own. #}
{# l is a fraction, so that nothing is rounded: for l = 2.5 give $l_numerator = 5 and $l_denominator = 2. #}
{% test ppdm_simple_l(model, quasi, sensitive, l, null_is_value=0) %}
{{ adapter.dispatch('ppdm_simple_l', 'ppdm')(model, quasi, sensitive, l, null_is_value) }}
{% endtest %}

{% macro default__ppdm_simple_l(model, quasi, sensitive, l, null_is_value) %}
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
  SUM(ppdm_count) AS ppdm_known,
  MAX(ppdm_count) AS ppdm_head
FROM ppdm_counts
GROUP BY
  {{ ppdm.columns(quasi) }}
HAVING
  MAX(ppdm_count) * {{ ppdm.fraction(l)[0] }} > SUM(ppdm_count) * {{ ppdm.fraction(l)[1] }}
  OR SUM(ppdm_count) = 0
{% endmacro %}

{% macro duckdb__ppdm_simple_l(model, quasi, sensitive, l, null_is_value) %}
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
  SUM(ppdm_count) AS ppdm_known,
  MAX(ppdm_count) AS ppdm_head
FROM ppdm_counts
GROUP BY
  {{ ppdm.columns(quasi) }}
HAVING
  MAX(ppdm_count) * {{ ppdm.fraction(l)[0] }} > SUM(ppdm_count) * {{ ppdm.fraction(l)[1] }}
  OR SUM(ppdm_count) = 0
{% endmacro %}

{% macro spark__ppdm_simple_l(model, quasi, sensitive, l, null_is_value) %}
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
  SUM(ppdm_count) AS ppdm_known,
  MAX(ppdm_count) AS ppdm_head
FROM ppdm_counts
GROUP BY
  {{ ppdm.columns(quasi) }}
HAVING
  MAX(ppdm_count) * {{ ppdm.fraction(l)[0] }} > SUM(ppdm_count) * {{ ppdm.fraction(l)[1] }}
  OR SUM(ppdm_count) = 0
{% endmacro %}
