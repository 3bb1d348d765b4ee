"""A table knows its best, and how far the paper is"""

from __future__ import annotations

import statistics

import pytest

from chronolink.paper import tables
from chronolink.table import Cell, Row, Table, ranked


def table(*rows: tuple[str, list[float | None]], least: bool = False, among: int = 1) -> Table:
    cells = [Row(("tgat", name), tuple(Cell(mean) for mean in means)) for name, means in rows]
    columns = tuple(str(place) for place in range(len(rows[0][1])))
    return ranked(Table("a", "A", ("model", "time encoder"), columns, tuple(cells)), least, among)


def ranks(ranked_table: Table, column: int = 0) -> list[int]:
    return [row.cells[column].rank for row in ranked_table.rows]


def test_a_cell_is_the_mean_and_the_sample_deviation_of_its_runs() -> None:
    values = [95.1, 95.4, 96.2]
    cell = Cell.of(values, (95.0, 0.5))
    by_hand = (sum((value - sum(values) / 3) ** 2 for value in values) / 2) ** 0.5
    assert cell.mean == pytest.approx(statistics.fmean(values))
    assert cell.deviation == pytest.approx(by_hand)
    assert cell.runs == 3


def test_one_run_has_no_deviation_and_no_run_has_no_mean() -> None:
    assert (Cell.of([95.0]).mean, Cell.of([95.0]).deviation, Cell.of([95.0]).runs) == (95.0, None, 1)
    assert Cell.of([], (95.0, 0.5)) == Cell(paper=(95.0, 0.5))


def test_the_difference_is_ours_less_the_papers() -> None:
    cell = Cell.of([94.0], (95.0, 0.5))
    assert cell.difference == pytest.approx(-1.0)
    assert cell.difference_in_deviations == pytest.approx(-2.0)


@pytest.mark.parametrize("cell", [Cell.of([94.0]), Cell.of([], (95.0, 0.5))], ids=["no paper", "no run"])
def test_where_one_side_is_missing_there_is_no_difference(cell: Cell) -> None:
    assert cell.difference is None
    assert cell.difference_in_deviations is None
    assert not cell.off


def test_a_paper_without_deviation_gives_no_difference_in_deviations() -> None:
    assert Cell.of([94.0], (95.0, 0.0)).difference_in_deviations is None


@pytest.mark.parametrize(
    ("mean", "paper", "off"),
    [
        (93.9, (95.0, 0.5), True),
        (96.1, (95.0, 0.5), True),
        (94.1, (95.0, 0.1), False),  # nine deviations, but no whole point
        (92.1, (95.0, 1.5), False),  # three points, but not two deviations
    ],
)
def test_a_cell_is_off_by_two_deviations_and_one_point(mean: float, paper: tuple[float, float], off: bool) -> None:
    assert Cell.of([mean], paper).off is off


def test_the_best_and_the_second_best_are_ranked() -> None:
    assert ranks(table(("a", [1.0]), ("b", [4.0]), ("c", [3.0]), ("d", [2.0]))) == [0, 1, 2, 0]


def test_where_less_is_better_the_least_is_best() -> None:
    assert ranks(table(("a", [1.0]), ("b", [4.0]), ("c", [3.0]), least=True)) == [1, 0, 2]


def test_numbers_equal_as_printed_share_a_rank_and_leave_no_second_best() -> None:
    assert ranks(table(("a", [93.491]), ("b", [93.33]), ("c", [93.489]))) == [1, 0, 1]
    assert ranks(table(("a", [93.3]), ("b", [94.0]), ("c", [93.3]))) == [2, 1, 2]


def test_a_missing_cell_has_no_rank_and_a_lonely_one_is_no_best() -> None:
    assert ranks(table(("a", [None]), ("b", [4.0]), ("c", [3.0]))) == [0, 1, 2]
    assert ranks(table(("a", [None]), ("b", [4.0]))) == [0, 0]


def test_only_rows_of_the_same_group_compete() -> None:
    rows = tuple(
        Row((model, encoder), (Cell(mean),))
        for model, encoder, mean in [("x", "a", 1.0), ("x", "b", 2.0), ("y", "a", 8.0), ("y", "b", 9.0)]
    )
    plain = Table("a", "A", ("model", "time encoder"), ("uci",), rows)
    assert ranks(ranked(plain)) == [2, 1, 2, 1]
    assert ranks(ranked(plain, among=0)) == [0, 0, 2, 1]
    assert [len(group) for group in ranked(plain).groups] == [2, 2]
    assert [len(group) for group in ranked(plain, among=0).groups] == [4]


def test_wins_are_the_columns_in_which_a_row_is_best() -> None:
    found = table(("a", [1.0, 5.0, 2.0]), ("b", [2.0, 4.0, 2.0]))
    assert [row.wins for row in found.rows] == [2, 2]


def test_ranks_of_the_papers_numbers_count_the_wins_it_prints() -> None:
    printed = {"TGAT": [1, 1, 4], "DyGFormer": [2, 0, 4], "DyGFormer-separate": [2, 1, 5], "DyGDecoder": [0, 0, 6]}
    cells = tables()["test_ap_random_ns"]
    rows = tuple(
        Row((model, encoder), tuple(Cell(paper=(cell["mean"], cell["std"])) for cell in row.values()))
        for model, encoders in cells.items()
        for encoder, row in encoders.items()
    )
    found = ranked(Table("a", "A", ("model", "time encoder"), tuple(cells["TGAT"]["linear"]), rows))
    assert [[row.paper_wins for row in group] for group in found.groups] == list(printed.values())
    assert {row.wins for row in found.rows} == {0}
