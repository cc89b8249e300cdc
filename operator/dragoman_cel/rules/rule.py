"""One compiled validation rule of a schema, with its message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dragoman_cel import types
from dragoman_cel.environment import Environment, Program
from dragoman_cel.errors import CompileError, FieldErrorType
from dragoman_cel.rules.paths import PathError, normalized
from dragoman_cel.rules.shapes import Schema

MESSAGE_BYTES = 5 * 1024
"""Longest message of a messageExpression."""

_REASONS = frozenset((FieldErrorType.FORBIDDEN, FieldErrorType.REQUIRED, FieldErrorType.DUPLICATE))


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of x-kubernetes-validations."""

    text: str  # The expression, trimmed
    program: Program | None  # Its program, None when the rule is blank or does not compile
    error: str  # Why it does not compile, "" if it does
    transition: bool  # Whether the rule reads `oldSelf`
    optional_old_self: bool  # Whether `oldSelf` is an optional that may be empty
    message: str  # The fixed message, trimmed; "" without one
    # The program of the messageExpression, None without one that compiles
    message_program: Program | None
    message_error: str  # Why the messageExpression does not compile, "" if it does
    reason: str  # One of `FieldErrorType`
    field_path: str  # Appended to the path of the value, "" for the value itself
    field_path_error: str  # Why the fieldPath is invalid, so that it is ignored; "" if it is valid

    @property
    def name(self) -> str:
        """Return the name of the rule in run-time errors: its message, or its text."""
        return self.message or self.text

    @property
    def fixed_message(self) -> str:
        """Return the message without a messageExpression."""
        return self.message or f"failed rule: {self.text}"


def compile_rule(
    source: Mapping[str, Any], environments: tuple[Environment, Environment], schema: Schema
) -> Rule:
    """Compile a rule; its errors become part of the result.

    Args:
        source: `rule`, `message`, `messageExpression`, `reason`, `fieldPath`, `optionalOldSelf`.
        environments: With a plain and with an optional `oldSelf`.
        schema: The schema of the rule.
    """
    optional = bool(source.get("optionalOldSelf"))
    environment = environments[optional]
    text = source.get("rule") or ""
    program, error = _compiled(text, environment, types.BOOL, _RULE_ERRORS)
    message_program, message_error = None, ""
    if program is not None:
        message_text = source.get("messageExpression") or ""
        message_program, message_error = _compiled(
            message_text, environment, types.STRING, _MESSAGE_ERRORS
        )
    field_path, path_error = _field_path(source.get("fieldPath") or "", schema)
    if message_error:
        # The API server checks nothing else after a messageExpression that does not compile.
        field_path = ""
    reason = source.get("reason") or ""
    return Rule(
        text=text.strip(),
        program=program,
        error=error,
        transition=program is not None and "oldSelf" in program.names,
        optional_old_self=optional,
        message=(source.get("message") or "").strip(),
        message_program=message_program,
        message_error=message_error,
        reason=reason if reason in _REASONS else FieldErrorType.INVALID,
        field_path=field_path,
        field_path_error=path_error,
    )


_RULE_ERRORS = ("compilation failed: ", "cel expression must evaluate to a bool")
_MESSAGE_ERRORS = (
    "messageExpression compilation failed: ",
    "messageExpression must evaluate to a string",
)


def _compiled(
    text: str, environment: Environment, expected: types.Type, errors: tuple[str, str]
) -> tuple[Program | None, str]:
    if not text.strip():
        return None, ""

    def result_error(of: types.Type) -> str:
        return "" if of is expected else errors[1]

    try:
        return environment.compile(text, check_result=result_error), ""
    except CompileError as error:
        return None, f"{errors[0]}{error.message}" if error.issues else error.message


def _field_path(text: str, schema: Schema) -> tuple[str, str]:
    if not text:
        return "", ""
    try:
        return normalized(text, schema), ""
    except PathError as error:
        return "", str(error)
