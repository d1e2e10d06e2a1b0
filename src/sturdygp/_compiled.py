"""Loops over small matrices, compiled: written out where the matrices are small enough.

A function whose first arguments are annotated ``Static`` is compiled once for each of their values. Local
arrays of known shape become one variable for each entry, loops of known length are written out, and calls of
:func:`inlined` functions are put in place. Small matrices then live in registers, and no store stands in the
way of a load, as it does where arrays might overlap: filters become several times faster. Where matrices are
larger the same loops are compiled as they stand. What is compiled is kept on disk for later processes.
"""

from __future__ import annotations

import ast
import copy
import inspect
import logging
import operator
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar, cast

import numba
import numpy as np

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

# An argument whose value, a number or a tuple, is known when a function is compiled.
Static: TypeAlias = Any
# Matrices of more rows stay arrays: what is written out grows with the third power.
LARGEST = 6
# Division by zero gives infinity, as in NumPy; a product and a sum may be one operation; zeros have no sign.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "nsz"}}
# Seconds of compiling that are worth a word.
LONG = 1.0

logger = logging.getLogger(__name__)


def compiled(function: F) -> F:
    """Compile at the first call for each kind of arguments."""
    return cast("F", numba.njit(cache=True, **OPTIONS)(function))


def inlined(function: F) -> F:
    """A part of functions that are written out; it may be called in these only."""
    INLINED[function.__name__] = definition_of(function)
    return function


def static(function: F) -> F:
    """A function of static arguments, which is called when others are written out."""
    STATIC[function.__name__] = function
    return function


def set_known(array: Any, pattern: Any) -> None:
    """Tell the compiler that entries of a small array are known: those that are not None in a pattern."""
    raise TypeError("this is for functions that are written out")


@dataclass(frozen=True, eq=False)
class WrittenOut(Generic[P, T]):
    """A function with static arguments, compiled for the values that it is called with."""

    function: Callable[P, T]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Compile first, if this is the first call of its kind on this machine."""
        count = len(static_names(self.function))
        found = specialised(self.function, cast("tuple[Static, ...]", args[:count]))
        before, started = len(found.overloads), time.perf_counter()
        result: T = found(*args[count:])
        if len(found.overloads) > before and (spent := time.perf_counter() - started) > LONG:
            logger.info("compiled %s%s in %.1f s", self.function.__name__, args[:count], spent)
        return result


def written_out(function: Callable[P, T]) -> Callable[P, T]:
    """Compile a function for each value of its static arguments, small matrices written out."""
    return WrittenOut(function)


@cache
def static_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """The arguments that are known when it is compiled."""
    return tuple(a.arg for a in definition_of(function).args.args if is_static(a))


@cache
def specialised(function: Callable[..., Any], values: tuple[Static, ...]) -> Any:
    """A function for these values of its static arguments, compiled when it is called."""
    tree = specialise(function, values)
    name = tree.name
    # Under the file of the original: what is compiled is kept beside it, and made anew when it changes.
    code = compile(ast.Module([tree], []), inspect.getfile(function), "exec")
    space: dict[str, Any] = dict(function.__globals__)
    exec(code, space)
    return numba.njit(cache=True, **OPTIONS)(space[name])


# -------------------------------------------------------------------------------------- writing out

INLINED: dict[str, ast.FunctionDef] = {}
STATIC: dict[str, Callable[..., Any]] = {}
ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
}


def definition_of(function: Callable[..., Any]) -> ast.FunctionDef:
    """The syntax tree of a function."""
    lines, number = inspect.getsourcelines(function)
    tree = ast.parse(textwrap.dedent("".join(lines)))
    found = tree.body[0]
    if not isinstance(found, ast.FunctionDef):
        raise TypeError(f"expected a function, got {function!r}")
    return ast.increment_lineno(found, number - 1)


def is_static(argument: ast.arg) -> bool:
    """Whether an argument is annotated so."""
    return isinstance(argument.annotation, ast.Name) and argument.annotation.id == "Static"


def specialise(function: Callable[..., Any], values: tuple[Static, ...]) -> ast.FunctionDef:
    """The function for these values of its static arguments."""
    tree = copy.deepcopy(definition_of(function))
    names = [a.arg for a in tree.args.args if is_static(a)]
    scope = Scope(
        dict(zip(names, values, strict=True)), small=max(v for v in values if isinstance(v, int)) <= LARGEST
    )
    tree.args.args = [ast.arg(a.arg) for a in tree.args.args if not is_static(a)]
    tree.name = "_".join([tree.name, *("x".join(map(str, np.atleast_1d(value))) for value in values)])
    tree.returns, tree.decorator_list = None, []
    body = scope.block(tree.body)
    first = next((i for i, each in enumerate(body) if isinstance(each, ast.For)), len(body))
    tree.body = [*body[:first], *scope.hoisted, *body[first:]]
    return ast.fix_missing_locations(tree)


@dataclass(frozen=True, eq=False)
class Small:
    """A local array, each entry of which is a variable; all of it, or the part below an index.

    Where statements follow each other without branches an entry is a new variable after each assignment,
    which spares the compiler work that grows faster than their number.
    """

    name: str
    shape: tuple[int, ...]
    straight: bool
    versions: dict[tuple[int, ...], int] = field(default_factory=dict)
    fixed: dict[tuple[int, ...], float] = field(default_factory=dict)
    below: tuple[int, ...] = ()

    def read(self, index: tuple[int, ...]) -> ast.expr:
        """An entry: its variable, or its value where that is known."""
        place = (*self.below, *index)
        if place in self.fixed:
            return ast.Constant(self.fixed[place])
        return ast.Name(self.variable(place), ast.Load())

    def assigned(self, index: tuple[int, ...]) -> ast.Name:
        """The variable of an entry that is assigned to."""
        place = (*self.below, *index)
        self.fixed.pop(place, None)
        if self.straight:
            self.versions[place] = self.versions.get(place, 0) + 1
        return ast.Name(self.variable(place), ast.Store())

    def assign(self, index: tuple[int, ...], value: ast.expr) -> list[ast.stmt]:
        """Assign to an entry. Where nothing branches, a known value needs no statement."""
        if self.straight and isinstance(value, ast.Constant):
            self.fixed[*self.below, *index] = cast("float", value.value)
            return []
        return [ast.Assign([self.assigned(index)], value)]

    def variable(self, place: tuple[int, ...]) -> str:
        """The name of the variable of an entry of the whole."""
        version = self.versions.get(place, 0)
        return "_".join([self.name, *map(str, place), *(["v", str(version)] if version else [])])

    def part(self, index: tuple[int, ...]) -> Small:
        """What is below an index."""
        return replace(self, shape=self.shape[len(index) :], below=(*self.below, *index))

    @property
    def indices(self) -> Iterator[tuple[int, ...]]:
        """Of all entries."""
        return product(*map(range, self.shape))


@dataclass
class Scope:
    """What names mean inside a function: known numbers, small arrays, or expressions of the caller."""

    known: dict[str, Any]
    small: bool
    arrays: dict[str, Small] = field(default_factory=dict)
    meanings: dict[str, ast.expr] = field(default_factory=dict)
    prefix: str = ""
    straight: bool = False
    count: list[int] = field(default_factory=lambda: [0])
    hoisted: list[ast.stmt] = field(default_factory=list)

    # -------------------------------------------------------------------------------- statements

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Statements, written out."""
        return [made for statement in statements for made in self.statement(statement)]

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        """What one statement becomes."""
        match node:
            case ast.Expr(ast.Constant()):
                return []
            case ast.Expr(ast.Call(ast.Name("set_known"), [array, pattern])):
                self.set_known(array, pattern)
                return []
            case ast.Expr(ast.Call(ast.Name(name)) as call) if name in INLINED:
                return self.inline(call)[0]
            case ast.Assign([target], value):
                return self.assign(target, value)
            case ast.For(ast.Name(name), ast.Call(ast.Name("range"), bounds)):
                return self.loop(node, name, bounds)
            case ast.If(test):
                if (truth := self.number(test)) is not None:
                    return self.block(node.body if truth else node.orelse)
                return [
                    ast.If(
                        self.expression(test), self.block(node.body) or [ast.Pass()], self.block(node.orelse)
                    )
                ]
            case ast.AugAssign(target, op, value):
                return self.assign(
                    target, ast.BinOp(with_context(copy.deepcopy(target), ast.Load()), op, value)
                )
            case _:
                return [self.generic(node)]

    def set_known(self, array: ast.expr, pattern: ast.expr) -> None:
        """Entries of a small array that are the same whenever this place is passed."""
        small = self.array(array)
        if small is not None:
            entries = np.array(self.value(pattern), dtype=object)
            small.fixed.update({(*small.below, *i): v for i, v in np.ndenumerate(entries) if v is not None})

    def loop(self, node: ast.For, name: str, bounds: list[ast.expr]) -> list[ast.stmt]:
        """Written out if its length is known and matrices are small."""
        numbers = [self.number(bound) for bound in bounds]
        if self.small and None not in numbers:
            made = []
            for value in range(*cast("list[int]", numbers)):
                self.known[name] = value
                made += self.block(node.body)
            self.known.pop(name, None)
            return made
        target = self.local(name)
        values = ast.Call(ast.Name("range", ast.Load()), [self.expression(b) for b in bounds], [])
        return [ast.For(target, values, self.block(node.body) or [ast.Pass()], [])]

    def assign(self, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        """An assignment: of what is inlined, a new array, all entries of an array, or anything else."""
        match target, value:
            case ast.Tuple(targets), ast.Tuple(values):
                if any(is_allocation(v) for v in values):
                    return [made for pair in zip(targets, values, strict=True) for made in self.assign(*pair)]
            case _, ast.Call(ast.Name(name)) if name in INLINED:
                made, returned = self.inline(value)
                if returned is None:
                    raise TypeError(f"{name} returns nothing")
                return [*made, ast.Assign([self.stored(target)], returned)]
            case ast.Name(name), ast.Call(_, [shape, *_]) if (
                not self.small and self.prefix and is_allocation(value)
            ):
                return self.hoist(name, value)
            case ast.Name(name), ast.Call(_, [shape, *_]) if self.small and is_allocation(value):
                if (array := self.allocate(name, shape)) is not None:
                    zeros = cast("ast.Attribute", value.func).attr == "zeros"
                    indices = array.indices if zeros else ()
                    return [made for index in indices for made in array.assign(index, ast.Constant(0.0))]
        whole = self.array(cast("ast.Subscript", target).value) if is_whole(target) else None
        given = self.array(value)
        if whole is not None or given is not None:
            return self.copy_entries(target, whole, value, given)
        read = self.expression(value)
        if (
            isinstance(target, ast.Subscript)
            and isinstance(target.value, ast.Name)
            and target.value.id in self.arrays
        ):
            return self.arrays[target.value.id].assign(self.indices(target.slice), read)
        return [ast.Assign([self.stored(target)], read)]

    def allocate(self, name: str, shape: ast.expr) -> Small | None:
        """A new array, if its shape is known."""
        sizes = [self.number(each) for each in elements(shape)]
        if None in sizes:
            return None
        self.arrays[name] = Small(f"{self.prefix}{name}", tuple(cast("list[int]", sizes)), self.straight)
        return self.arrays[name]

    def hoist(self, name: str, value: ast.Call) -> list[ast.stmt]:
        """A new array of an inlined function, made once for all times that this place is passed."""
        made = cast("ast.Call", self.expression(value))
        place = self.local(name)
        if any(self.number(each) is None for each in elements(value.args[0])):
            return [ast.Assign([place], made)]
        self.hoisted.append(ast.Assign([place], made))
        if cast("ast.Attribute", value.func).attr == "empty":
            return []
        return [
            ast.Assign(
                [ast.Subscript(ast.Name(place.id, ast.Load()), ast.Slice(), ast.Store())], ast.Constant(0.0)
            )
        ]

    def copy_entries(
        self, target: ast.expr, whole: Small | None, value: ast.expr, given: Small | None
    ) -> list[ast.stmt]:
        """Entry by entry, between small arrays, other arrays and numbers."""
        shape = (whole or cast("Small", given)).shape
        base = target.value if is_whole(target) and isinstance(target, ast.Subscript) else target
        made: list[ast.stmt] = []
        for index in product(*map(range, shape)):
            if given is not None:
                entry: ast.expr = given.read(index)
            elif isinstance(value, ast.Constant):
                entry = value
            else:
                entry = with_index(self.expression(value), index, ast.Load())
            if whole is not None:
                made += whole.assign(index, entry)
            else:
                made.append(ast.Assign([with_index(self.expression(base), index, ast.Store())], entry))
        return made

    def inline(self, call: ast.expr) -> tuple[list[ast.stmt], ast.expr | None]:
        """The body of a function in place of its call, and what it returns."""
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
            raise TypeError("only a call by name can be put in place")
        function = INLINED[call.func.id]
        self.count[0] += 1
        inner = Scope(
            {}, self.small, prefix=f"{call.func.id}{self.count[0]}_", count=self.count, hoisted=self.hoisted
        )
        inner.straight = self.small and is_straight(function)
        made: list[ast.stmt] = []
        for parameter, value in zip(function.args.args, call.args, strict=True):
            name = parameter.arg
            if (known := self.value(value)) is not None:
                inner.known[name] = known
            elif (array := self.array(value)) is not None:
                inner.arrays[name] = array
            elif isinstance(value, ast.Name | ast.Subscript):
                inner.meanings[name] = self.expression(value)
            else:
                made.append(ast.Assign([inner.local(name)], self.expression(value)))
        *body, last = copy.deepcopy(function.body)
        if isinstance(last, ast.Return) and last.value is not None:
            return made + inner.block(body), inner.expression(last.value)
        return made + inner.block([*body, last]), None

    # ------------------------------------------------------------------------------- expressions

    def number(self, node: ast.expr) -> int | None:
        """The value of an expression of known numbers."""
        value = self.value(node)
        return int(value) if isinstance(value, int) else None

    def value(self, node: ast.expr) -> Any:
        """The value of an expression of known numbers and of functions of these; None if it is not known."""
        match node:
            case ast.Constant(value):
                return value
            case ast.Name("LARGEST"):
                return LARGEST
            case ast.Name(name):
                return self.known.get(name)
            case ast.UnaryOp(ast.USub(), operand):
                value = self.value(operand)
                return None if value is None else -value
            case ast.BinOp(left, op, right) if type(op) in ARITHMETIC:
                pair = self.value(left), self.value(right)
                return None if None in pair else ARITHMETIC[type(op)](*pair)
            case ast.Compare(left, [op], [right]):
                pair = self.value(left), self.value(right)
                return None if None in pair else ARITHMETIC[type(op)](*pair)
            case ast.Call(ast.Name(name), arguments, []) if name in STATIC:
                values = [self.value(each) for each in arguments]
                return None if None in values else STATIC[name](*values)
        return None

    def array(self, node: ast.expr) -> Small | None:
        """The small array that an expression is, all of it or a row."""
        match node:
            case ast.Name(name):
                return self.arrays.get(name)
            case ast.Subscript(ast.Name(name), index) if name in self.arrays:
                indices, array = self.indices(index), self.arrays[name]
                if len(indices) < len(array.shape):
                    return array.part(indices)
        return None

    def indices(self, index: ast.expr) -> tuple[int, ...]:
        """Known indices."""
        found = [self.number(each) for each in (index.elts if isinstance(index, ast.Tuple) else [index])]
        if None in found:
            raise TypeError(f"the index {ast.unparse(index)} of a small array is not known")
        return tuple(cast("list[int]", found))

    def stored(self, node: ast.expr) -> ast.expr:
        """Where something is assigned to."""
        if isinstance(node, ast.Name):
            return self.local(node.id)
        if isinstance(node, ast.Tuple):
            return ast.Tuple([self.stored(each) for each in node.elts], ast.Store())
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.value, ast.Name)
            and node.value.id in self.arrays
        ):
            return self.arrays[node.value.id].assigned(self.indices(node.slice))
        return cast("ast.expr", with_context(self.expression(node), ast.Store()))

    def local(self, name: str) -> ast.Name:
        """A variable of this scope."""
        self.known.pop(name, None)
        full = self.prefix + name
        if self.straight:
            self.count[0] += 1
            full += f"_v{self.count[0]}"
        if self.prefix:
            self.meanings[name] = ast.Name(full, ast.Load())
        return ast.Name(full, ast.Store())

    def expression(self, node: ast.expr) -> ast.expr:
        """An expression in terms of the function that is written."""
        if (number := self.number(node)) is not None:
            return ast.Constant(number)
        match node:
            case ast.Name(name):
                return copy.deepcopy(self.meanings.get(name, node))
            case ast.Subscript(ast.Name(name), index) if name in self.arrays:
                return self.arrays[name].read(self.indices(index))
            case ast.IfExp(test, body, orelse) if (truth := self.number(test)) is not None:
                return self.expression(body if truth else orelse)
            case ast.Attribute(base, "dtype") if isinstance(inner := self.expression(base), ast.Subscript):
                return ast.Attribute(inner.value, "dtype", ast.Load())
            case ast.Subscript(base, index):
                inner, at = self.expression(base), self.expression(index)
                if isinstance(inner, ast.Subscript) and not isinstance(inner.slice, ast.Slice):
                    at = ast.Tuple([*elements(inner.slice), *elements(at)], ast.Load())
                    inner = inner.value
                return ast.Subscript(inner, at, node.ctx)
        made = cast("ast.expr", self.generic(node))
        return folded(made) if isinstance(made, ast.BinOp) else made

    def generic(self, node: Any) -> Any:
        """The same kind of node, its expressions and statements written out."""
        made = copy.copy(node)
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                keep = name == "target" or isinstance(getattr(value, "ctx", None), ast.Store)
                setattr(
                    made,
                    name,
                    with_context(self.expression(value), ast.Store()) if keep else self.expression(value),
                )
            elif isinstance(value, list):
                setattr(made, name, [self.element(each) for each in value])
        return made

    def element(self, node: Any) -> Any:
        """An entry of a list of nodes."""
        return self.expression(node) if isinstance(node, ast.expr) else node


def is_straight(function: ast.FunctionDef) -> bool:
    """Whether all statements follow each other, once loops of known length are written out."""
    known = {a.arg for a in function.args.args if is_static(a)}
    known |= {
        n.target.id for n in ast.walk(function) if isinstance(n, ast.For) and isinstance(n.target, ast.Name)
    }
    decisive: list[ast.expr] = []
    for node in ast.walk(function):
        if isinstance(node, ast.For):
            decisive += cast("ast.Call", node.iter).args
        elif isinstance(node, ast.If | ast.While):
            decisive.append(node.test)
    return {n.id for each in decisive for n in ast.walk(each) if isinstance(n, ast.Name)} <= known


def elements(index: ast.expr) -> list[ast.expr]:
    """The parts of an index."""
    return index.elts if isinstance(index, ast.Tuple) else [index]


def with_index(base: ast.expr, index: tuple[int, ...], context: ast.expr_context) -> ast.Subscript:
    """An entry of an array, or of a part of it."""
    more: list[ast.expr] = [ast.Constant(i) for i in index]
    if isinstance(base, ast.Subscript):
        return ast.Subscript(base.value, ast.Tuple([*elements(base.slice), *more], ast.Load()), context)
    return ast.Subscript(base, ast.Tuple(more, ast.Load()), context)


def with_context(node: Any, context: ast.expr_context) -> Any:
    """The same expression, loaded or stored."""
    node.ctx = context
    return node


def folded(node: ast.BinOp) -> ast.expr:
    """A sum or product without zeros and ones."""
    left, right = (n.value if isinstance(n, ast.Constant) else None for n in (node.left, node.right))
    match node.op:
        case ast.Mult() if 0.0 in (left, right):
            return ast.Constant(0.0)
        case ast.Mult() if left == 1.0:
            return node.right
        case ast.Mult() | ast.Div() if right == 1.0:
            return node.left
        case ast.Add() if left == 0.0:
            return node.right
        case ast.Add() | ast.Sub() if right == 0.0:
            return node.left
        case ast.Sub() if left == 0.0:
            return ast.UnaryOp(ast.USub(), node.right)
    return node


def is_whole(node: ast.expr) -> bool:
    """Whether it is ``array[:]``."""
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)


def is_allocation(node: ast.expr) -> bool:
    """Whether it is a new array."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"empty", "zeros"}
    )
