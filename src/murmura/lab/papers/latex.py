"""A table of a report in LaTeX, with the package booktabs."""

from __future__ import annotations

from murmura.report.table import ReportTable, TableCell
from murmura.studies.compare.folder import BELOW_MOSTPOP

LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"{\char34}",
        "\N{MINUS SIGN}": "$-$",
        "–": "--",
        "±": r"$\pm$",
        "[": "{[}",  # a bracket after \\ would be read as an argument
        "]": "{]}",
        "†": r"\dag{}",
        "∗": r"$\ast$",
        "↑": r"$\uparrow$",
        "↓": r"$\downarrow$",
        BELOW_MOSTPOP: r"$\bigtriangledown$",
        **{one: rf"\{one}" for one in "{}$&#%_"},
    }
)


def to_latex(table: ReportTable) -> str:
    """A table for \\input with the package booktabs; other alphabets need a Unicode engine."""
    spec = "".join("r" if column.numeric else "l" for column in table.columns)
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{latex(' '.join([table.title + '.', *table.notes]))}}}",
        rf"  \begin{{tabular}}{{{spec}}}",
        r"    \toprule",
        "    " + " & ".join(latex(column.title) for column in table.columns) + r" \\",
        r"    \midrule",
    ]
    lines += ["    " + " & ".join(_latex_cell(cell) for cell in row) + r" \\" for row in table.rows]
    return "\n".join([*lines, r"    \bottomrule", r"  \end{tabular}", r"\end{table}", ""])


def _latex_cell(cell: TableCell) -> str:
    text = rf"\textbf{{{latex(cell.text)}}}" if cell.best else latex(cell.text)
    mark = rf"\textsuperscript{{{latex(cell.mark)}}}" if cell.mark else ""
    interval = rf" {{\scriptsize [{latex(cell.interval)}]}}" if cell.interval else ""
    return text + mark + interval


def latex(text: str) -> str:
    """Text with everything LaTeX would act on made harmless."""
    return text.translate(LATEX)
