{# Made from sql/checks/recursive_diversity.sql by python -m integrations.generate #}
{# Equivalence classes that break recursive (c, l)-diversity.  No row returned = satisfied. #}
{# Machanavajjhala et al. 2007: f1 < c * (f_l + ... + f_m), f_i = i-th most frequent sensitive value. #}
{# Counts stand in for frequencies: both sides have the same divisor. #}
{# Only known values count; with $null_is_value = 1 instead of 0 a NULL is a value of its own. #}
{# A class of fewer than l values has an empty tail and fails for every c. #}
{# c is a fraction, so that nothing is rounded: for c = 2.5 give $c_numerator = 5 and $c_denominator = 2. #}
{% test ppdm_recursive_l(model, quasi, sensitive, c, l, null_is_value=0) %}
{{ adapter.dispatch('ppdm_recursive_l', 'ppdm')(model, quasi, sensitive, c, l, null_is_value) }}
{% endtest %}

{% macro default__ppdm_recursive_l(model, quasi, sensitive, c, l, null_is_value) %}
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
), ppdm_ranked AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_rows,
    ppdm_count,
    ROW_NUMBER() OVER (PARTITION BY {{ ppdm.columns(quasi) }} ORDER BY ppdm_count DESC NULLS LAST) AS ppdm_position
  FROM ppdm_counts
)
SELECT
  {{ ppdm.columns(quasi) }},
  SUM(ppdm_rows) AS ppdm_size,
  MAX(ppdm_count) AS ppdm_head,
  SUM(CASE WHEN ppdm_position >= {{ ppdm.number(l) }} THEN ppdm_count ELSE 0 END) AS ppdm_tail
FROM ppdm_ranked
GROUP BY
  {{ ppdm.columns(quasi) }}
HAVING
  MAX(ppdm_count) * {{ ppdm.fraction(c)[1] }} >= SUM(CASE WHEN ppdm_position >= {{ ppdm.number(l) }} THEN ppdm_count ELSE 0 END) * {{ ppdm.fraction(c)[0] }}
{% endmacro %}

{% macro duckdb__ppdm_recursive_l(model, quasi, sensitive, c, l, null_is_value) %}
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
), ppdm_ranked AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_rows,
    ppdm_count,
    ROW_NUMBER() OVER (PARTITION BY {{ ppdm.columns(quasi) }} ORDER BY ppdm_count DESC) AS ppdm_position
  FROM ppdm_counts
)
SELECT
  {{ ppdm.columns(quasi) }},
  SUM(ppdm_rows) AS ppdm_size,
  MAX(ppdm_count) AS ppdm_head,
  SUM(CASE WHEN ppdm_position >= {{ ppdm.number(l) }} THEN ppdm_count ELSE 0 END) AS ppdm_tail
FROM ppdm_ranked
GROUP BY
  {{ ppdm.columns(quasi) }}
HAVING
  MAX(ppdm_count) * {{ ppdm.fraction(c)[1] }} >= SUM(CASE WHEN ppdm_position >= {{ ppdm.number(l) }} THEN ppdm_count ELSE 0 END) * {{ ppdm.fraction(c)[0] }}
{% endmacro %}

{% macro spark__ppdm_recursive_l(model, quasi, sensitive, c, l, null_is_value) %}
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
), ppdm_ranked AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_rows,
    ppdm_count,
    ROW_NUMBER() OVER (PARTITION BY {{ ppdm.columns(quasi) }} ORDER BY ppdm_count DESC) AS ppdm_position
  FROM ppdm_counts
)
SELECT
  {{ ppdm.columns(quasi) }},
  SUM(ppdm_rows) AS ppdm_size,
  MAX(ppdm_count) AS ppdm_head,
  SUM(CASE WHEN ppdm_position >= {{ ppdm.number(l) }} THEN ppdm_count ELSE 0 END) AS ppdm_tail
FROM ppdm_ranked
GROUP BY
  {{ ppdm.columns(quasi) }}
HAVING
  MAX(ppdm_count) * {{ ppdm.fraction(c)[1] }} >= SUM(CASE WHEN ppdm_position >= {{ ppdm.number(l) }} THEN ppdm_count ELSE 0 END) * {{ ppdm.fraction(c)[0] }}
{% endmacro %}
