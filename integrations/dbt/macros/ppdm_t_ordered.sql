{# Made from sql/checks/closeness_ordered.sql by python -m integrations.generate #}
{# Equivalence classes farther than t from the whole relation, the sensitive values standing in a row. #}
{# No row returned = t-close (Li et al. 2007).  A class without a known value is returned. #}
{# Only known values count; with $null_is_value = 1 instead of 0 a NULL is a value of its own, behind all others. #}
{# The distance is what has to be carried past each value, from the first to the last but one; with m values #}
{# neighbours are 1 / (m - 1) apart.  Multiplied by known * rows * (m - 1) (known values #}
{# of the class and of the relation) it is a whole number, ppdm_far. #}
{# t is a fraction: for t = 0.2 give $t_numerator = 1 and $t_denominator = 5. #}
{# Every class is written down with every value: fine for some hundred values, not for tens of thousands. #}
{% test ppdm_t_ordered(model, quasi, sensitive, t, null_is_value=0) %}
{{ adapter.dispatch('ppdm_t_ordered', 'ppdm')(model, quasi, sensitive, t, null_is_value) }}
{% endtest %}

{% macro default__ppdm_t_ordered(model, quasi, sensitive, t, null_is_value) %}
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
), ppdm_classes AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_size,
    SUM(ppdm_count) AS ppdm_known
  FROM ppdm_cells
  GROUP BY
    {{ ppdm.columns(quasi) }},
    ppdm_size
), ppdm_values AS (
  SELECT
    ppdm_value,
    SUM(ppdm_count) AS ppdm_everywhere
  FROM ppdm_cells
  GROUP BY
    ppdm_value
), ppdm_table AS (
  SELECT
    SUM(ppdm_everywhere) AS ppdm_rows,
    COUNT(NULLIF(ppdm_everywhere, 0)) - 1 AS ppdm_steps
  FROM ppdm_values
), ppdm_grid AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_value,
    ppdm_size,
    ppdm_known,
    ppdm_everywhere,
    0 AS ppdm_count
  FROM ppdm_classes
  CROSS JOIN ppdm_values
  UNION ALL
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_value,
    0 AS ppdm_size,
    0 AS ppdm_known,
    0 AS ppdm_everywhere,
    ppdm_count
  FROM ppdm_cells
), ppdm_filled AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_value,
    MAX(ppdm_size) AS ppdm_size,
    MAX(ppdm_known) AS ppdm_known,
    MAX(ppdm_everywhere) AS ppdm_everywhere,
    SUM(ppdm_count) AS ppdm_count
  FROM ppdm_grid
  GROUP BY
    {{ ppdm.columns(quasi) }},
    ppdm_value
), ppdm_sums AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_size,
    ppdm_known,
    SUM(ppdm_count) OVER (
      PARTITION BY {{ ppdm.columns(quasi) }}
      ORDER BY ppdm_value
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS ppdm_up_to,
    SUM(ppdm_everywhere) OVER (
      PARTITION BY {{ ppdm.columns(quasi) }}
      ORDER BY ppdm_value
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS ppdm_all_up_to
  FROM ppdm_filled
), ppdm_far AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_size,
    ppdm_known,
    ppdm_known * ppdm_rows * ppdm_steps AS ppdm_whole,
    SUM(ABS(ppdm_up_to * ppdm_rows - ppdm_all_up_to * ppdm_known)) AS ppdm_far
  FROM ppdm_sums
  CROSS JOIN ppdm_table
  GROUP BY
    {{ ppdm.columns(quasi) }},
    ppdm_size,
    ppdm_known,
    ppdm_rows,
    ppdm_steps
)
SELECT
  {{ ppdm.columns(quasi) }},
  ppdm_size,
  ppdm_far,
  ppdm_whole
FROM ppdm_far
WHERE
  ppdm_far * {{ ppdm.fraction(t)[1] }} > ppdm_whole * {{ ppdm.fraction(t)[0] }}
  OR ppdm_known = 0
{% endmacro %}

{% macro duckdb__ppdm_t_ordered(model, quasi, sensitive, t, null_is_value) %}
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
), ppdm_classes AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_size,
    SUM(ppdm_count) AS ppdm_known
  FROM ppdm_cells
  GROUP BY
    {{ ppdm.columns(quasi) }},
    ppdm_size
), ppdm_values AS (
  SELECT
    ppdm_value,
    SUM(ppdm_count) AS ppdm_everywhere
  FROM ppdm_cells
  GROUP BY
    ppdm_value
), ppdm_table AS (
  SELECT
    SUM(ppdm_everywhere) AS ppdm_rows,
    COUNT(NULLIF(ppdm_everywhere, 0)) - 1 AS ppdm_steps
  FROM ppdm_values
), ppdm_grid AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_value,
    ppdm_size,
    ppdm_known,
    ppdm_everywhere,
    0 AS ppdm_count
  FROM ppdm_classes
  CROSS JOIN ppdm_values
  UNION ALL
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_value,
    0 AS ppdm_size,
    0 AS ppdm_known,
    0 AS ppdm_everywhere,
    ppdm_count
  FROM ppdm_cells
), ppdm_filled AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_value,
    MAX(ppdm_size) AS ppdm_size,
    MAX(ppdm_known) AS ppdm_known,
    MAX(ppdm_everywhere) AS ppdm_everywhere,
    SUM(ppdm_count) AS ppdm_count
  FROM ppdm_grid
  GROUP BY
    {{ ppdm.columns(quasi) }},
    ppdm_value
), ppdm_sums AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_size,
    ppdm_known,
    SUM(ppdm_count) OVER (
      PARTITION BY {{ ppdm.columns(quasi) }}
      ORDER BY ppdm_value
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS ppdm_up_to,
    SUM(ppdm_everywhere) OVER (
      PARTITION BY {{ ppdm.columns(quasi) }}
      ORDER BY ppdm_value
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS ppdm_all_up_to
  FROM ppdm_filled
), ppdm_far AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_size,
    ppdm_known,
    ppdm_known * ppdm_rows * ppdm_steps AS ppdm_whole,
    SUM(ABS(ppdm_up_to * ppdm_rows - ppdm_all_up_to * ppdm_known)) AS ppdm_far
  FROM ppdm_sums
  CROSS JOIN ppdm_table
  GROUP BY
    {{ ppdm.columns(quasi) }},
    ppdm_size,
    ppdm_known,
    ppdm_rows,
    ppdm_steps
)
SELECT
  {{ ppdm.columns(quasi) }},
  ppdm_size,
  ppdm_far,
  ppdm_whole
FROM ppdm_far
WHERE
  ppdm_far * {{ ppdm.fraction(t)[1] }} > ppdm_whole * {{ ppdm.fraction(t)[0] }}
  OR ppdm_known = 0
{% endmacro %}

{% macro spark__ppdm_t_ordered(model, quasi, sensitive, t, null_is_value) %}
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
), ppdm_classes AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_size,
    SUM(ppdm_count) AS ppdm_known
  FROM ppdm_cells
  GROUP BY
    {{ ppdm.columns(quasi) }},
    ppdm_size
), ppdm_values AS (
  SELECT
    ppdm_value,
    SUM(ppdm_count) AS ppdm_everywhere
  FROM ppdm_cells
  GROUP BY
    ppdm_value
), ppdm_table AS (
  SELECT
    SUM(ppdm_everywhere) AS ppdm_rows,
    COUNT(NULLIF(ppdm_everywhere, 0)) - 1 AS ppdm_steps
  FROM ppdm_values
), ppdm_grid AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_value,
    ppdm_size,
    ppdm_known,
    ppdm_everywhere,
    0 AS ppdm_count
  FROM ppdm_classes
  CROSS JOIN ppdm_values
  UNION ALL
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_value,
    0 AS ppdm_size,
    0 AS ppdm_known,
    0 AS ppdm_everywhere,
    ppdm_count
  FROM ppdm_cells
), ppdm_filled AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_value,
    MAX(ppdm_size) AS ppdm_size,
    MAX(ppdm_known) AS ppdm_known,
    MAX(ppdm_everywhere) AS ppdm_everywhere,
    SUM(ppdm_count) AS ppdm_count
  FROM ppdm_grid
  GROUP BY
    {{ ppdm.columns(quasi) }},
    ppdm_value
), ppdm_sums AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_size,
    ppdm_known,
    SUM(ppdm_count) OVER (
      PARTITION BY {{ ppdm.columns(quasi) }}
      ORDER BY ppdm_value NULLS LAST
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS ppdm_up_to,
    SUM(ppdm_everywhere) OVER (
      PARTITION BY {{ ppdm.columns(quasi) }}
      ORDER BY ppdm_value NULLS LAST
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS ppdm_all_up_to
  FROM ppdm_filled
), ppdm_far AS (
  SELECT
    {{ ppdm.columns(quasi) }},
    ppdm_size,
    ppdm_known,
    ppdm_known * ppdm_rows * ppdm_steps AS ppdm_whole,
    SUM(ABS(ppdm_up_to * ppdm_rows - ppdm_all_up_to * ppdm_known)) AS ppdm_far
  FROM ppdm_sums
  CROSS JOIN ppdm_table
  GROUP BY
    {{ ppdm.columns(quasi) }},
    ppdm_size,
    ppdm_known,
    ppdm_rows,
    ppdm_steps
)
SELECT
  {{ ppdm.columns(quasi) }},
  ppdm_size,
  ppdm_far,
  ppdm_whole
FROM ppdm_far
WHERE
  ppdm_far * {{ ppdm.fraction(t)[1] }} > ppdm_whole * {{ ppdm.fraction(t)[0] }}
  OR ppdm_known = 0
{% endmacro %}
