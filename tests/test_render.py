"""Tables are written as in the paper"""

from __future__ import annotations

import re

import pytest

from chronolink.render import DASH, beside_markdown, latex, markdown, records, signed
from chronolink.table import Cell, Row, Table, ranked

MINUS = "\N{MINUS SIGN}"
PAPER = (95.41, 0.06)


def table(title: str = "Test AP", column: str = "UCI") -> Table:
    rows = (
        Row(("tgat", "cosine"), (Cell.of([80.0, 81.0], (80.27, 0.42)), Cell.of([], (97.0, 0.15)))),
        Row(("tgat", "linear"), (Cell.of([95.9], PAPER), Cell())),
        Row(("dygformer", "cosine"), (Cell.of([96.0, 96.0]), Cell())),
        Row(("dygformer", "linear"), (Cell(), Cell())),
    )
    return ranked(Table("random-negatives", title, ("model", "time encoder"), (column, "Enron"), rows))


def lines(text: str) -> list[list[str]]:
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in text.splitlines()
        if line.startswith("|")
    ]


def test_markdown_marks_the_best_and_the_second_best_and_counts_wins() -> None:
    heads, rule, *body = lines(markdown(table()))
    assert heads == ["model", "time encoder", "UCI", "Enron", "wins"]
    assert rule == [":---", ":---", "---:", "---:", "---:"]
    assert body == [
        ["tgat", "cosine", "<u>80.50</u> ± 0.71", DASH, "0"],
        ["", "linear", "**95.90**", DASH, "**1**"],
        ["dygformer", "cosine", "96.00 ± 0.00", DASH, "0"],
        ["", "linear", DASH, DASH, DASH],
    ]


def test_a_table_without_wins_has_no_column_of_them() -> None:
    rows = (Row(("a",), (Cell(1.0),)),)
    plain = Table("a", "A", ("model",), ("uci",), rows, unit="s", digits=1, wins=False)
    assert lines(markdown(plain))[0] == ["model", "uci"]
    assert lines(markdown(plain))[2] == ["a", "1.0"]
    assert "wins" not in latex(plain)


def test_beside_the_paper_every_cell_has_its_difference() -> None:
    text = beside_markdown(table())
    heads, _, *body = lines(text)
    assert heads[2:] == ["data set", "ours", "runs", "paper", "difference", "in deviations"]
    assert body == [
        ["tgat", "cosine", "UCI", "<u>80.50</u> ± 0.71", "2", "<u>80.27</u> ± 0.42", "+0.23", "+0.5"],
        ["tgat", "cosine", "Enron", DASH, "0", "97.00 ± 0.15", DASH, DASH],
        ["tgat", "linear", "UCI", "**95.90**", "1", "**95.41** ± 0.06", "+0.49", "+8.2"],
        ["dygformer", "cosine", "UCI", "96.00 ± 0.00", "2", DASH, DASH, DASH],
    ]
    assert "†" not in text


def test_a_cell_far_from_the_paper_is_marked_and_the_mark_explained() -> None:
    rows = (Row(("tgat",), (Cell.of([90.0], PAPER),)),)
    text = beside_markdown(Table("a", "A", ("model",), ("uci",), rows))
    assert f"{MINUS}5.41 †" in text
    assert text.endswith("† more than two of the paper's standard deviations and more than one point away\n")


@pytest.mark.parametrize(
    ("value", "text"), [(0.494, "+0.49"), (-0.494, f"{MINUS}0.49"), (-0.004, "0.00"), (0.0, "0.00"), (None, DASH)]
)
def test_a_difference_has_a_sign_unless_it_is_nothing(value: float | None, text: str) -> None:
    assert signed(value, 2) == text


def test_markdown_stays_a_table_whatever_the_names() -> None:
    text = markdown(table("a | b <script> *x*", "a|b\n_c_"))
    assert {len(line) for line in lines(text)} == {5}
    assert "<script>" not in text
    assert r"a\|b \_c\_" in text


def test_latex_has_a_rule_between_groups_and_the_same_cells_in_every_line() -> None:
    text = latex(table())
    rules = [line for line in text.splitlines() if line in (r"\toprule", r"\midrule", r"\bottomrule")]
    assert rules == [r"\toprule", r"\midrule", r"\midrule", r"\bottomrule"]
    assert r"\begin{tabular}{llrrr}" in text
    assert {line.count(" & ") for line in text.splitlines() if line.endswith(r" \\")} == {4}
    assert r"tgat & cosine & \underline{80.50}{\scriptsize$\pm$0.71} & -- & 0 \\" in text
    assert r" & linear & \textbf{95.90} & -- & \textbf{1} \\" in text
    assert r"\caption{Test AP (AP in \%)}" in text
    assert r"\label{table:random-negatives}" in text


def test_latex_escapes_what_it_would_read_as_a_command() -> None:
    text = latex(table(r"\input{x} 100% a_b & c # $ ~ ^ <"))
    caption = next(line for line in text.splitlines() if line.startswith(r"\caption"))
    assert caption == (
        r"\caption{\textbackslash{}input\{x\} 100\% a\_b \& c \# \$ \textasciitilde{} \textasciicircum{} "
        r"\textless{} (AP in \%)}"
    )


def test_records_are_flat_and_one_a_cell() -> None:
    found = records(table())
    assert len(found) == 8
    assert found[2] == {
        "table": "random-negatives",
        "model": "tgat",
        "time_encoder": "linear",
        "column": "UCI",
        "unit": "AP in %",
        "mean": 95.9,
        "deviation": None,
        "runs": 1,
        "paper_mean": 95.41,
        "paper_deviation": 0.06,
        "difference": 0.49,
        "difference_in_deviations": pytest.approx(8.166667),
    }
    assert {tuple(record) for record in found} == {tuple(found[2])}
