"""A picture as a page of its own: figures under the pointer, and a table of the last ones."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files

from rlg.tracking.chart.layout import Chart, hover_data, short
from rlg.tracking.chart.shapes import ROLES, Picture, role_of
from rlg.tracking.chart.svg import FONT, to_svg


def to_html(picture: Picture, chart: Chart) -> str:
    """One file that needs nothing else."""
    data = {
        "plot": picture.plot,
        "x_range": picture.x_range,
        "y_range": picture.y_range,
        "width": picture.width,
        "x_label": chart.x_label,
        "groups": hover_data(chart),
    }
    content = json.dumps(data).replace("<", "\\u003c")  # a label can't end the script
    script = files(__package__).joinpath("hover.js").read_text(encoding="utf-8")
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{escape(chart.title)}</title>\n<style>{_css()}</style></head>\n"
        f'<body><main><div class="chart">{to_svg(picture)}'
        '<div id="hover" hidden></div><div id="cursor" hidden></div></div>\n'
        f"{_table(chart)}</main>\n"
        f'<script id="data" type="application/json">{content}</script>\n'
        f"<script>{script}</script></body></html>\n"
    )


def _table(chart: Chart) -> str:
    rows = []
    for index, group in enumerate(chart.groups):
        mean, std = group.last()
        spread = "" if std is None else short(std, mean)
        seeds = " ".join(str(curve.seed) for curve in group.curves)
        box = 'width="14" height="10"'
        swatch = f'<svg {box}><rect class="{role_of(index)}" {box}/></svg>'
        cells = [group.label, short(mean), spread, short(group.best()), str(group.count), seeds]
        rows.append(
            f"<tr><td>{swatch} " + "</td><td>".join(escape(cell) for cell in cells) + "</td></tr>"
        )
    heads = ("group", "last", "std", "best", "runs", "seeds")
    head = "".join(f"<th>{name}</th>" for name in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _css() -> str:
    themes = [
        ":root{" + "".join(f"--{role}:{pair[dark]};" for role, pair in ROLES.items()) + "}"
        for dark in (0, 1)
    ]
    return (
        f"{themes[0]}@media (prefers-color-scheme: dark){{{themes[1]}}}"
        f"body{{margin:0;background:var(--page);color:var(--text);font:14px {FONT}}}"
        "main{max-width:900px;margin:16px auto;padding:0 12px}"
        ".chart{position:relative}.chart>svg{width:100%;height:auto;display:block}"
        "table{border-collapse:collapse;width:100%;margin:12px 0 24px;"
        "font-variant-numeric:tabular-nums}"
        "th{color:var(--muted);font-weight:500;text-align:left}"
        "th,td{padding:5px 12px 5px 0;border-bottom:1px solid var(--grid)}"
        "td:nth-child(n+2):nth-child(-n+5),th:nth-child(n+2):nth-child(-n+5){text-align:right}"
        "td:nth-child(5),th:nth-child(5){padding-right:24px}"
        "#hover{position:absolute;pointer-events:none;background:var(--page);"
        "border:1px solid var(--axis);border-radius:6px;padding:7px 10px;font-size:12.5px;"
        "white-space:nowrap;box-shadow:0 2px 8px #0003}"
        "#hover b{font-weight:600}"
        "#cursor{position:absolute;pointer-events:none;width:1px;background:var(--axis)}"
    )
