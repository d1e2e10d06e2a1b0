"""HTML report of a flagged table: charts, the flagged readings, and a description of the model.

The report is one file that needs no network. Writing it needs the extra ``report``: jinja2, and plotly, whose
JavaScript becomes part of the file.
"""
