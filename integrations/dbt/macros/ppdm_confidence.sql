{# Made from sql/checks/confidence_limit.sql by python -m integrations.generate #}
{# Equivalence classes that tell a sensitive value with more than the allowed confidence: the most frequent #}
{# value has more than this share of the known ones, or none is known.  No row returned = the limit is kept. #}
{# Only known values count; with $null_is_value = 1 instead of 0 a NULL is a value of its own. #}
{# The limit is a fraction, so that nothing is rounded: for 85 % give $limit_numerator = 85, $limit_denominator = 100. #}
{% test ppdm_confidence(model, quasi, sensitive, share, null_is_value=0) %}
{{ adapter.dispatch('ppdm_confidence', 'ppdm')(model, quasi, sensitive, share, null_is_value) }}
{% endtest %}

{% macro default__ppdm_confidence(model, quasi, sensitive, share, null_is_value) %}
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
  MAX(ppdm_count) * {{ ppdm.fraction(share)[1] }} > SUM(ppdm_count) * {{ ppdm.fraction(share)[0] }}
  OR SUM(ppdm_count) = 0
{% endmacro %}

{% macro duckdb__ppdm_confidence(model, quasi, sensitive, share, null_is_value) %}
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
  MAX(ppdm_count) * {{ ppdm.fraction(share)[1] }} > SUM(ppdm_count) * {{ ppdm.fraction(share)[0] }}
  OR SUM(ppdm_count) = 0
{% endmacro %}

{% macro spark__ppdm_confidence(model, quasi, sensitive, share, null_is_value) %}
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
  MAX(ppdm_count) * {{ ppdm.fraction(share)[1] }} > SUM(ppdm_count) * {{ ppdm.fraction(share)[0] }}
  OR SUM(ppdm_count) = 0
{% endmacro %}
