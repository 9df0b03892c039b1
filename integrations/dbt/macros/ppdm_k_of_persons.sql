{# Made from sql/checks/undersized_classes_by_entity.sql by python -m integrations.generate #}
{# Equivalence classes of fewer than $k persons.  No row returned = the relation is k-anonymous by person. #}
{# One person with twelve rows is one person.  A row without a person (NULL) counts for nobody. #}
{% test ppdm_k_of_persons(model, quasi, entity, k) %}
{{ adapter.dispatch('ppdm_k_of_persons', 'ppdm')(model, quasi, entity, k) }}
{% endtest %}

{% macro default__ppdm_k_of_persons(model, quasi, entity, k) %}
SELECT
  {{ ppdm.columns(quasi) }},
  COUNT(DISTINCT ppdm_entity) AS ppdm_entities,
  COUNT(*) AS ppdm_size
FROM {{ ppdm.source(model, quasi, entity=entity) }} AS ppdm_source
GROUP BY
  {{ ppdm.columns(quasi) }}
HAVING
  COUNT(DISTINCT ppdm_entity) < {{ ppdm.number(k) }}
{% endmacro %}

{% macro duckdb__ppdm_k_of_persons(model, quasi, entity, k) %}
SELECT
  {{ ppdm.columns(quasi) }},
  COUNT(DISTINCT ppdm_entity) AS ppdm_entities,
  COUNT(*) AS ppdm_size
FROM {{ ppdm.source(model, quasi, entity=entity) }} AS ppdm_source
GROUP BY
  {{ ppdm.columns(quasi) }}
HAVING
  COUNT(DISTINCT ppdm_entity) < {{ ppdm.number(k) }}
{% endmacro %}

{% macro spark__ppdm_k_of_persons(model, quasi, entity, k) %}
SELECT
  {{ ppdm.columns(quasi) }},
  COUNT(DISTINCT ppdm_entity) AS ppdm_entities,
  COUNT(*) AS ppdm_size
FROM {{ ppdm.source(model, quasi, entity=entity) }} AS ppdm_source
GROUP BY
  {{ ppdm.columns(quasi) }}
HAVING
  COUNT(DISTINCT ppdm_entity) < {{ ppdm.number(k) }}
{% endmacro %}
