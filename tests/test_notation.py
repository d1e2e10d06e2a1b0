"""The tables of docs/notation.md are true: modules import, names are in them, labels are beside the code."""

import ast
import importlib
import inspect
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "notation.md"
LABEL = re.compile(r"\beq:[A-Za-z]\w*")
NO_LABEL = "—"
PAPER_COLUMNS = ("paper symbol", "name in code", "equation", "module")
OWN_COLUMNS = ("symbol", "meaning", "name in code", "module")

# The labelled equations of the paper, which is not part of the repository.
PAPER_LABELS = frozenset(
    LABEL.findall(
        """
        eq:M_step_argmax eq:ard_se_kernel eq:asor_weight_and_precision eq:b_prior eq:bj_point_estimate
        eq:data_matrix_views eq:dj_definition eq:final_latent_posterior eq:fixed_prior_hyperparameters
        eq:gamma_branch_updated_parameters eq:gamma_definitions eq:gp_prior eq:joint_posterior_all_unknowns
        eq:kappa_negative_objective eq:kernel_backtracking_rule eq:kernel_log_derivatives
        eq:latent_and_parameter_sets eq:latent_precision_prior eq:latent_variational_factorization
        eq:log_kernel_gradient eq:log_kernel_parameterization eq:mj_point_estimate
        eq:noisy_predictive_distribution eq:normalized_kernel_gradient_step eq:omega_closed_form
        eq:predictive_latent_distribution eq:qI_final_spike_gamma eq:qf_parameters eq:residual_statistics
        eq:scalar_likelihood_explicit eq:sigma_point_estimate eq:sigma_prior eq:synthetic_generation
        eq:variational_coordinate_update eq:wij_final
        """
    )
)

Row = dict[str, str]


def cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip().strip("`") for cell in line.strip().strip("|").split("|"))


def rows_under(columns: tuple[str, ...]) -> list[Row]:
    """The rows of all tables with these columns; one of another width is an error."""
    rows, inside = [], False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            inside = False
        elif cells(line) == columns:
            inside = True
        elif inside and not set(line) <= set("|-: "):
            rows.append(dict(zip(columns, cells(line), strict=True)))
    return rows


PAPER_ROWS, OWN_ROWS = rows_under(PAPER_COLUMNS), rows_under(OWN_COLUMNS)


def row_id(row: Row) -> str:
    return f"{row['module'].removeprefix('sturdygp.')}:{row['name in code']}"


@cache
def source_of(module: str) -> str:
    return inspect.getsource(importlib.import_module(module))


def names_in(node: ast.AST) -> set[str]:
    """Names, attributes, arguments and definitions anywhere below a node."""
    found = set()
    for child in ast.walk(node):
        match child:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) if child is not node:
                found.add(name)
    return found


def definition(name: str, node: ast.AST) -> ast.AST:
    """The class or function of that name directly inside a node."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef) and child.name == name:
            return child
    raise AssertionError(f"{name} is not defined where the table says")


def assert_name_is_in_module(row: Row) -> None:
    *outer, name = row["name in code"].split(".")
    node: ast.AST = ast.parse(source_of(row["module"]))
    for part in outer:
        node = definition(part, node)
    assert name in names_in(node), f"{row['name in code']} is not in {row['module']}"


def test_tables_are_found():
    lines = (cells(line) for line in PAGE.read_text(encoding="utf-8").splitlines())
    assert {line for line in lines if "module" in line} == {PAPER_COLUMNS, OWN_COLUMNS}
    assert PAPER_ROWS
    assert OWN_ROWS


@pytest.mark.parametrize("row", PAPER_ROWS + OWN_ROWS, ids=row_id)
def test_names_are_in_their_modules(row):
    assert_name_is_in_module(row)


@pytest.mark.parametrize("row", [r for r in PAPER_ROWS if r["equation"] != NO_LABEL], ids=row_id)
def test_equations_are_the_papers_and_stand_beside_the_code(row):
    assert row["equation"] in PAPER_LABELS
    assert row["equation"] in LABEL.findall(source_of(row["module"]))


def test_every_label_in_the_code_is_in_the_table():
    sources = (ROOT / "src" / "sturdygp").rglob("*.py")
    mentioned = {label for path in sources for label in LABEL.findall(path.read_text(encoding="utf-8"))}
    assert mentioned
    assert mentioned - {row["equation"] for row in PAPER_ROWS} == set()
