"""Tables as Markdown and LaTeX."""

import pytest

from sturdygp.report.table import Strong, Table


def test_table_shows_marks_as_they_are_in_markdown_and_latex():
    table = Table(
        "50 % & more_", ("a_b", "n"), ((r"x|y*z <b> \{~^#$}", "1 ± 2"), ("n_starts", Strong("2"))), ("100 %",)
    )
    assert r"| x\|y\*z \<b> \\{~^#$} | 1 ± 2 |" in table.markdown()
    assert "| n_starts | **2** |" in table.markdown()
    assert r"**50 % & more\_**" in table.markdown()
    text = table.latex()
    assert r"x\textbar{}y*z \textless{}b\textgreater{} \textbackslash{}\{" in text
    assert r"\{\textasciitilde{}\textasciicircum{}\#\$\} & 1 $\pm$ 2 \\" in text
    assert r"n\_starts & \textbf{2} \\" in text
    assert r"\caption{50 \% \& more\_}" in text
    assert r"\begin{tabular}{lr}" in text
    assert text.index(r"\toprule") < text.index(r"\midrule") < text.index(r"\bottomrule")
    assert r"{\footnotesize 100 \%}" in text


def test_table_wraps_long_columns_in_latex_and_refuses_uneven_rows():
    long = "word " * 20
    assert (
        r"\begin{tabular}{lp{0.40\linewidth}p{0.40\linewidth}}"
        in Table("t", ("a", "b", "c"), (("x", long, long),)).latex()
    )
    with pytest.raises(ValueError, match="has 1 cells, not 2"):
        Table("t", ("a", "b"), (("x",),))
