"""Accuracy against bytes, as a table: every federated model, and whether another one has more for less."""

from __future__ import annotations

from murmura.report.device_traffic import PRICES, on_front, priced
from murmura.report.summary import Results, title
from murmura.report.tables.table import (
    Column,
    ReportTable,
    TableCell,
    decimals_for,
    number_cell,
    text_cell,
)


def traffic_table(results: Results) -> ReportTable | None:
    """One line for each federated model, best first; nothing where no model counted bytes."""
    key = results.primary
    lines = priced(results, key) if key else []
    if key is None or not lines:
        return None
    fronts = {price: {one.label for one in on_front(lines, price, key)} for price in PRICES}
    shown = {
        **{price: [of(traffic) for _, traffic in lines] for price, of in PRICES.items()},
        "visits": [traffic.visits for _, traffic in lines],
        "final": [traffic.final for _, traffic in lines],
    }
    digits = {name: decimals_for(values) for name, values in shown.items()}
    decimals = decimals_for([line.values[key].mean for line, _ in lines])
    rows = []
    for line, traffic in lines:
        prices = (_price(of(traffic), digits[p], line.label in fronts[p]) for p, of in PRICES.items())
        rows.append(
            (
                text_cell(line.label),
                number_cell(line.values[key].mean, decimals),
                *prices,
                number_cell(traffic.visits, digits["visits"]),
                number_cell(traffic.final, digits["final"]),
            )
        )
    columns = (
        Column("model", numeric=False),
        Column(key, title(key)),
        *(Column(price) for price in PRICES),
        Column("visits of a device"),
        Column("final kB", "of the bytes down per device: the model it ranks with after the last round"),
    )
    note = (
        f"∗ on the Pareto front of {key} and these bytes: no other federated model is at least as good in both "
        "and better in one. Bytes are exact to the message, without the headers of a network."
    )
    return ReportTable("bytes", f"{key} against bytes", columns, tuple(rows), (note,))


def _price(value: float, decimals: int, best: bool) -> TableCell:
    cell = number_cell(value, decimals)
    return TableCell(cell.value, cell.text, mark="∗" if best and cell.value is not None else "")
