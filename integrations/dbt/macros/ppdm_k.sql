{# Made from sql/checks/undersized_classes.sql by python -m integrations.generate #}
{# Equivalence classes of fewer than $k rows.  No row returned = the relation is k-anonymous. #}
{# NULL is a value of its own: GROUP BY puts the NULLs of a column together. #}
{% test ppdm_k(model, quasi, k) %}
{{ adapter.dispatch('ppdm_k', 'ppdm')(model, quasi, k) }}
{% endtest %}

{% macro default__ppdm_k(model, quasi, k) %}
SELECT
  {{ ppdm.columns(quasi) }},
  COUNT(*) AS ppdm_size
FROM {{ ppdm.source(model, quasi) }} AS ppdm_source
GROUP BY
  {{ ppdm.columns(quasi) }}
HAVING
  COUNT(*) < {{ ppdm.number(k) }}
{% endmacro %}

{% macro duckdb__ppdm_k(model, quasi, k) %}
SELECT
  {{ ppdm.columns(quasi) }},
  COUNT(*) AS ppdm_size
FROM {{ ppdm.source(model, quasi) }} AS ppdm_source
GROUP BY
  {{ ppdm.columns(quasi) }}
HAVING
  COUNT(*) < {{ ppdm.number(k) }}
{% endmacro %}

{% macro spark__ppdm_k(model, quasi, k) %}
SELECT
  {{ ppdm.columns(quasi) }},
  COUNT(*) AS ppdm_size
FROM {{ ppdm.source(model, quasi) }} AS ppdm_source
GROUP BY
  {{ ppdm.columns(quasi) }}
HAVING
  COUNT(*) < {{ ppdm.number(k) }}
{% endmacro %}
