{# Made from sql/checks/beta_likeness.sql by python -m integrations.generate #}
{# Equivalence classes in which some sensitive value is too much more frequent than in the whole relation. #}
{# No row returned = basic beta-likeness (Cao and Karras 2012): (q - p) / p <= beta for every value, q being its share #}
{# among the known values of the class and p among those of the relation.  A class without a known value is returned. #}
{# q / p = count * rows / (known * everywhere), so with beta = numerator / denominator whole numbers decide. #}
{# Only known values count; with $null_is_value = 1 instead of 0 a NULL is a value of its own. #}
{% test ppdm_beta(model, quasi, sensitive, beta, null_is_value=0) %}
{{ adapter.dispatch('ppdm_beta', 'ppdm')(model, quasi, sensitive, beta, null_is_value) }}
{% endtest %}

{% macro default__ppdm_beta(model, quasi, sensitive, beta, null_is_value) %}
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
    CAST(ppdm_count AS DECIMAL(38, 0)) AS ppdm_count,
    CAST(SUM(ppdm_count) OVER (PARTITION BY {{ ppdm.columns(quasi) }}) AS DECIMAL(38, 0)) AS ppdm_known,
    CAST(SUM(ppdm_count) OVER (PARTITION BY ppdm_value) AS DECIMAL(38, 0)) AS ppdm_everywhere,
    CAST(SUM(ppdm_count) OVER () AS DECIMAL(38, 0)) AS ppdm_rows
  FROM ppdm_cells
)
SELECT
  {{ ppdm.columns(quasi) }},
  MAX(ppdm_size) AS ppdm_size,
  MAX(ppdm_known) AS ppdm_known
FROM ppdm_shares
GROUP BY
  {{ ppdm.columns(quasi) }}
HAVING
  MAX(
    CASE
      WHEN ppdm_count * ppdm_rows * {{ ppdm.fraction(beta)[1] }} > ppdm_known * ppdm_everywhere * (
        CAST({{ ppdm.fraction(beta)[0] }} AS DECIMAL(38, 0)) + {{ ppdm.fraction(beta)[1] }}
      )
      THEN 1
      ELSE 0
    END
  ) = 1
  OR MAX(ppdm_known) = 0
{% endmacro %}

{% macro duckdb__ppdm_beta(model, quasi, sensitive, beta, null_is_value) %}
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
    CAST(ppdm_count AS DECIMAL(38, 0)) AS ppdm_count,
    CAST(SUM(ppdm_count) OVER (PARTITION BY {{ ppdm.columns(quasi) }}) AS DECIMAL(38, 0)) AS ppdm_known,
    CAST(SUM(ppdm_count) OVER (PARTITION BY ppdm_value) AS DECIMAL(38, 0)) AS ppdm_everywhere,
    CAST(SUM(ppdm_count) OVER () AS DECIMAL(38, 0)) AS ppdm_rows
  FROM ppdm_cells
)
SELECT
  {{ ppdm.columns(quasi) }},
  MAX(ppdm_size) AS ppdm_size,
  MAX(ppdm_known) AS ppdm_known
FROM ppdm_shares
GROUP BY
  {{ ppdm.columns(quasi) }}
HAVING
  MAX(
    CASE
      WHEN ppdm_count * ppdm_rows * {{ ppdm.fraction(beta)[1] }} > ppdm_known * ppdm_everywhere * (
        CAST({{ ppdm.fraction(beta)[0] }} AS DECIMAL(38, 0)) + {{ ppdm.fraction(beta)[1] }}
      )
      THEN 1
      ELSE 0
    END
  ) = 1
  OR MAX(ppdm_known) = 0
{% endmacro %}

{% macro spark__ppdm_beta(model, quasi, sensitive, beta, null_is_value) %}
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
    CAST(ppdm_count AS DECIMAL(38, 0)) AS ppdm_count,
    CAST(SUM(ppdm_count) OVER (PARTITION BY {{ ppdm.columns(quasi) }}) AS DECIMAL(38, 0)) AS ppdm_known,
    CAST(SUM(ppdm_count) OVER (PARTITION BY ppdm_value) AS DECIMAL(38, 0)) AS ppdm_everywhere,
    CAST(SUM(ppdm_count) OVER () AS DECIMAL(38, 0)) AS ppdm_rows
  FROM ppdm_cells
)
SELECT
  {{ ppdm.columns(quasi) }},
  MAX(ppdm_size) AS ppdm_size,
  MAX(ppdm_known) AS ppdm_known
FROM ppdm_shares
GROUP BY
  {{ ppdm.columns(quasi) }}
HAVING
  MAX(
    CASE
      WHEN ppdm_count * ppdm_rows * {{ ppdm.fraction(beta)[1] }} > ppdm_known * ppdm_everywhere * (
        CAST({{ ppdm.fraction(beta)[0] }} AS DECIMAL(38, 0)) + {{ ppdm.fraction(beta)[1] }}
      )
      THEN 1
      ELSE 0
    END
  ) = 1
  OR MAX(ppdm_known) = 0
{% endmacro %}
