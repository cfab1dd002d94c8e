"""`calc`: arithmetic, read and worked out here. It can do nothing to you; what would take long is refused."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from agentloop.errors import ToolError
from agentloop.tools.tool import Tool, tool

__all__ = ["calc_tool", "calculate"]

_Number: TypeAlias = int | float

_LONGEST = 1000  # characters of an expression
_MOST_BITS = 4096  # of a whole number: some 1200 digits
_MOST_FACTORIAL = 400


def calc_tool() -> Tool:
    return tool(calculate, name="calc", risk="read", effects="none", parallel=True)


def calculate(expression: str) -> str:
    """Work out an arithmetic expression.

    It may have numbers, + - * / // % ** and parentheses; pi, e; abs round min max sum sqrt floor ceil exp log log2
    log10 sin cos tan asin acos atan atan2 degrees radians hypot factorial comb gcd lcm. Whole numbers are exact.

    Args:
        expression: Such as (17 + 25) * sqrt(2).
    """
    if len(expression) > _LONGEST:
        raise ToolError(f"the expression has {len(expression)} characters; at most {_LONGEST} are read")
    try:
        value = _value(ast.parse(expression.strip(), mode="eval").body)
    except SyntaxError as error:
        raise ToolError(f"this is no arithmetic expression: {error.msg}{_advice(expression)}") from None
    except (RecursionError, MemoryError):
        raise ToolError("the expression is nested too deeply") from None
    except ZeroDivisionError:
        raise ToolError("division by zero") from None
    except (ArithmeticError, ValueError, TypeError) as error:
        raise ToolError(f"this cannot be worked out: {error}") from None
    return str(value) if isinstance(value, int) else format(value, ".15g")


def _advice(expression: str) -> str:
    return "; a power is written **" if "^" in expression else ""


def _value(node: ast.expr) -> _Number:
    match node:
        case ast.Constant(value=bool()):
            raise ToolError("True and False are no numbers")
        case ast.Constant(value=int() | float() as number):
            return _bounded(number)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            return _bounded(_OPERATORS[type(operator)](_value(left), _value(right)))
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _bounded(_FUNCTIONS[name](*map(_value, arguments)))
        case ast.BinOp(op=ast.BitXor()):
            raise ToolError("^ is not supported: a power is written **")
        case ast.Name(id=name) | ast.Call(func=ast.Name(id=name)) if name not in _FUNCTIONS:
            raise ToolError(f"{name!r} is not known here; known are {', '.join((*_CONSTANTS, *_FUNCTIONS))}")
        case _:
            raise ToolError("only numbers, + - * / // % **, parentheses and the functions of the description are read")


def _bounded(value: Any) -> _Number:
    if isinstance(value, complex) or (isinstance(value, float) and not math.isfinite(value)):
        raise ToolError("the result is no real number")
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise ToolError(f"a number has more than {_MOST_BITS} bits")
    return value


def _power(base: _Number, exponent: _Number) -> _Number:
    """Refused before it is worked out: 9**9**9 would take hours."""
    if isinstance(base, int) and isinstance(exponent, int) and exponent > 0:
        bits = (base.bit_length() - 1) * exponent
        if bits > _MOST_BITS:
            raise ToolError(f"this power has more than {bits} bits; at most {_MOST_BITS} are worked out")
    return base**exponent


def _factorial(number: _Number) -> int:
    if number != int(number) or not 0 <= number <= _MOST_FACTORIAL:
        raise ToolError(f"a factorial is worked out of whole numbers from 0 to {_MOST_FACTORIAL}")
    return math.factorial(int(number))


def _comb(total: _Number, chosen: _Number) -> int:
    if total != int(total) or chosen != int(chosen) or not 0 <= total <= _MOST_BITS:
        raise ToolError(f"comb takes whole numbers, the first from 0 to {_MOST_BITS}")
    return math.comb(int(total), int(chosen))


def _round(number: _Number, digits: _Number = 0) -> _Number:
    if digits != int(digits) or abs(digits) > 400:
        raise ToolError("round takes a whole number of digits, at most 400")
    return round(number, int(digits)) if digits else round(number)


def _sum(*numbers: _Number) -> _Number:
    return sum(numbers)


_CONSTANTS: Mapping[str, float] = {"pi": math.pi, "e": math.e}
_OPERATORS: Mapping[type[ast.operator], Callable[[_Number, _Number], _Number]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.Pow: _power,
}
_MATH = (
    *("sqrt", "floor", "ceil", "exp", "log", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "atan2"),
    *("degrees", "radians", "hypot", "gcd", "lcm"),
)
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "round": _round,
    "min": min,
    "max": max,
    "sum": _sum,
    "factorial": _factorial,
    "comb": _comb,
    **{name: getattr(math, name) for name in _MATH},
}
