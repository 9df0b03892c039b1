"""What Spark says about a statement that failed, without the values it quotes."""

from __future__ import annotations

import re

from pyspark.errors import PySparkException

from ppdm_sql.errors import DatabaseUnavailable, EngineError, Fault

# Only these speak of names alone; others quote the expression, and with it the values in it.
_ABOUT_NAMES = re.compile(
    r"PARSE_SYNTAX_ERROR|TABLE_OR_VIEW_(NOT_FOUND|ALREADY_EXISTS)|SCHEMA_NOT_FOUND|UNRESOLVED_(COLUMN|ROUTINE)\b.*"
    r"|AMBIGUOUS_REFERENCE|COLUMN_ALREADY_EXISTS|EXPECT_.*|WRONG_COMMAND_FOR_OBJECT_TYPE|UNSUPPORTED_FEATURE\b.*"
    r"|LOCATION_ALREADY_EXISTS"
)


def explanation(cause: Exception, sql: str) -> EngineError:
    """The error in our words.  Spark's text is quoted only where it speaks of names, never of values."""
    text = str(cause)
    if "No space left" in text:
        return DatabaseUnavailable("the disk is full", sql=sql)
    if "OutOfMemoryError" in text:
        return EngineError("Spark ran out of memory: raise --memory-limit", sql=sql)
    condition = _condition(cause, text)
    if condition is None:
        return DatabaseUnavailable("the Spark process did not answer", sql=sql)
    if isinstance(cause, PySparkException) and _ABOUT_NAMES.fullmatch(condition):
        return EngineError(_first_sentence(text), sql=sql, fault=_fault(cause, condition))
    return EngineError(f"Spark refused a statement ({condition})", sql=sql, fault=Fault("value", detail=text))


def _fault(cause: PySparkException, condition: str) -> Fault:
    """The name that Spark does not find, from the parameters of its message; it gives no usable place."""
    given = cause.getMessageParameters() or {}
    if condition.startswith("UNRESOLVED_COLUMN") and "objectName" in given:
        return Fault("column", _last_word(given["objectName"]))
    if condition == "TABLE_OR_VIEW_NOT_FOUND" and "relationName" in given:
        return Fault("table", _last_word(given["relationName"]))
    if condition == "PARSE_SYNTAX_ERROR" and "error" in given:
        return Fault("syntax", given["error"].strip("'"))
    return Fault("other")


def _last_word(quoted: str) -> str:
    """The last part of a name in backticks.

    >>> _last_word("`s`.`my table`"), _last_word("t")
    ('my table', 't')
    """
    return quoted.strip("`").rsplit("`.`", 1)[-1].replace("``", "`")


def _condition(cause: Exception, text: str) -> str | None:
    """The name Spark gives to an error; one that comes out of a task has it only in its text."""
    if isinstance(cause, PySparkException):
        return cause.getCondition() or type(cause).__name__
    if not hasattr(cause, "java_exception"):
        return None
    named = re.search(r"\[([A-Z][A-Z0-9_.]+)\]", text)
    return named[1] if named else "SparkException"


def _first_sentence(text: str) -> str:
    """The first line, without the name of the condition before it and the SQLSTATE behind it.

    >>> _first_sentence("[X_Y] The table `t` is not there. SQLSTATE: 42P01; line 1")
    'The table `t` is not there.'
    """
    line = next(line for line in text.splitlines() if line.strip())
    return re.sub(r"\s*SQLSTATE:.*", "", re.sub(r"^\[[\w.]+\]\s*", "", line))
