{# Made from sql/checks/closeness_equal.sql by python -m integrations.generate #}
{# Equivalence classes farther than t from the whole relation, all sensitive values equally far apart. #}
{# No row returned = t-close (Li et al. 2007).  A class without a known value is returned. #}
{# Only known values count; with $null_is_value = 1 instead of 0 a NULL is a value of its own. #}
{# The distance is what the two distributions do not share: 1 - sum of min(share in the class, share everywhere). #}
{# Multiplied by known * rows (known values of the class and of the relation) it is a whole number, ppdm_far. #}
{# t is a fraction: for t = 0.2 give $t_numerator = 1 and $t_denominator = 5. #}
{% test ppdm_t(model, quasi, sensitive, t, null_is_value=0) %}
{{ adapter.dispatch('ppdm_t', 'ppdm')(model, quasi, sensitive, t, null_is_value) }}
{% endtest %}

{% macro default__ppdm_t(model, quasi, sensitive, t, null_is_value) %}
WITH ppdm_cells AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_sensitive AS ppdm_value,
    SUM(COUNT(*)) OVER (PARTITION BY {{ ppdm.columns(quasi) }}) AS ppdm_size,
    CASE
      WHEN NOT ppdm_sensitive IS NULL OR {{ ppdm.number(null_is_value) }} = 1
      THEN COUNT(*)
      ELSE 0
    END AS ppdm_count
  FROM {{ ppdm.source(model, quasi, sensitive=sensitive) }} AS ppdm_source
  GROUP BY
    {{ ppdm.columns(quasi) }},
    ppdm_sensitive
), ppdm_shares AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_size,
    ppdm_count,
    SUM(ppdm_count) OVER (PARTITION BY {{ ppdm.columns(quasi) }}) AS ppdm_known,
    SUM(ppdm_count) OVER (PARTITION BY ppdm_value) AS ppdm_everywhere,
    SUM(ppdm_count) OVER () AS ppdm_rows
  FROM ppdm_cells
), ppdm_far AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_size,
    ppdm_known * ppdm_rows AS ppdm_whole,
    ppdm_known * ppdm_rows - SUM(LEAST(ppdm_count * ppdm_rows, ppdm_everywhere * ppdm_known)) AS ppdm_far
  FROM ppdm_shares
  GROUP BY
    {{ ppdm.columns(quasi) }},
    ppdm_size,
    ppdm_known,
    ppdm_rows
)
SELECT
  {{ ppdm.columns(quasi) }},
  ppdm_size,
  ppdm_far,
  ppdm_whole
FROM ppdm_far
WHERE
  ppdm_far * {{ ppdm.fraction(t)[1] }} > ppdm_whole * {{ ppdm.fraction(t)[0] }}
  OR ppdm_whole = 0
{% endmacro %}

{% macro duckdb__ppdm_t(model, quasi, sensitive, t, null_is_value) %}
WITH ppdm_cells AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_sensitive AS ppdm_value,
    SUM(COUNT(*)) OVER (PARTITION BY {{ ppdm.columns(quasi) }}) AS ppdm_size,
    CASE
      WHEN NOT ppdm_sensitive IS NULL OR {{ ppdm.number(null_is_value) }} = 1
      THEN COUNT(*)
      ELSE 0
    END AS ppdm_count
  FROM {{ ppdm.source(model, quasi, sensitive=sensitive) }} AS ppdm_source
  GROUP BY
    {{ ppdm.columns(quasi) }},
    ppdm_sensitive
), ppdm_shares AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_size,
    ppdm_count,
    SUM(ppdm_count) OVER (PARTITION BY {{ ppdm.columns(quasi) }}) AS ppdm_known,
    SUM(ppdm_count) OVER (PARTITION BY ppdm_value) AS ppdm_everywhere,
    SUM(ppdm_count) OVER () AS ppdm_rows
  FROM ppdm_cells
), ppdm_far AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_size,
    ppdm_known * ppdm_rows AS ppdm_whole,
    ppdm_known * ppdm_rows - SUM(LEAST(ppdm_count * ppdm_rows, ppdm_everywhere * ppdm_known)) AS ppdm_far
  FROM ppdm_shares
  GROUP BY
    {{ ppdm.columns(quasi) }},
    ppdm_size,
    ppdm_known,
    ppdm_rows
)
SELECT
  {{ ppdm.columns(quasi) }},
  ppdm_size,
  ppdm_far,
  ppdm_whole
FROM ppdm_far
WHERE
  ppdm_far * {{ ppdm.fraction(t)[1] }} > ppdm_whole * {{ ppdm.fraction(t)[0] }}
  OR ppdm_whole = 0
{% endmacro %}

{% macro spark__ppdm_t(model, quasi, sensitive, t, null_is_value) %}
WITH ppdm_cells AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_sensitive AS ppdm_value,
    SUM(COUNT(*)) OVER (PARTITION BY {{ ppdm.columns(quasi) }}) AS ppdm_size,
    CASE
      WHEN NOT ppdm_sensitive IS NULL OR {{ ppdm.number(null_is_value) }} = 1
      THEN COUNT(*)
      ELSE 0
    END AS ppdm_count
  FROM {{ ppdm.source(model, quasi, sensitive=sensitive) }} AS ppdm_source
  GROUP BY
    {{ ppdm.columns(quasi) }},
    ppdm_sensitive
), ppdm_shares AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_size,
    ppdm_count,
    SUM(ppdm_count) OVER (PARTITION BY {{ ppdm.columns(quasi) }}) AS ppdm_known,
    SUM(ppdm_count) OVER (PARTITION BY ppdm_value) AS ppdm_everywhere,
    SUM(ppdm_count) OVER () AS ppdm_rows
  FROM ppdm_cells
), ppdm_far AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_size,
    ppdm_known * ppdm_rows AS ppdm_whole,
    ppdm_known * ppdm_rows - SUM(LEAST(ppdm_count * ppdm_rows, ppdm_everywhere * ppdm_known)) AS ppdm_far
  FROM ppdm_shares
  GROUP BY
    {{ ppdm.columns(quasi) }},
    ppdm_size,
    ppdm_known,
    ppdm_rows
)
SELECT
  {{ ppdm.columns(quasi) }},
  ppdm_size,
  ppdm_far,
  ppdm_whole
FROM ppdm_far
WHERE
  ppdm_far * {{ ppdm.fraction(t)[1] }} > ppdm_whole * {{ ppdm.fraction(t)[0] }}
  OR ppdm_whole = 0
{% endmacro %}
