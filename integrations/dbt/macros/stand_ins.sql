{# What the generic tests put into the statements of sql/checks. #}

{% macro columns(quasi) -%}
{%- if quasi is string or quasi | length == 0 -%}
{{ exceptions.raise_compiler_error("ppdm: quasi must be a list of columns, such as [age, zip]") }}
{%- endif -%}
{%- for name in quasi -%}{{ adapter.quote(name) }}{{ ", " if not loop.last }}{%- endfor -%}
{%- endmacro %}

{% macro source(model, quasi, sensitive=none, entity=none) -%}
(SELECT {{ ppdm.columns(quasi) }}
{%- if sensitive is not none %}, {{ adapter.quote(sensitive) }} AS ppdm_sensitive{% endif -%}
{%- if entity is not none %}, {{ adapter.quote(entity) }} AS ppdm_entity{% endif %} FROM {{ model }})
{%- endmacro %}

{% macro number(value) -%}
{%- if not modules.re.match("^[0-9]+([.][0-9]+)?(e-?[0-9]+)?$", value | string) -%}
{{ exceptions.raise_compiler_error("ppdm: expected a number, got " ~ value) }}
{%- endif -%}
{{ return(value) }}
{%- endmacro %}

{# 2.5 -> [25, 10], "1/3" -> [1, 3]: nothing is rounded. #}
{% macro fraction(value) -%}
{%- set text = value | string -%}
{%- if modules.re.match("^[0-9]+/[0-9]+$", text) -%}
{{ return([text.split("/")[0] | int, text.split("/")[1] | int]) }}
{%- endif -%}
{%- if not modules.re.match("^[0-9]+([.][0-9]+)?$", text) -%}
{{ exceptions.raise_compiler_error("ppdm: expected a number such as 2, 0.2 or '1/3', got " ~ text) }}
{%- endif -%}
{%- set parts = text.split(".") -%}
{%- set digits = parts[1] if parts | length == 2 else "" -%}
{{ return([(parts[0] ~ digits) | int, 10 ** (digits | length)]) }}
{%- endmacro %}
