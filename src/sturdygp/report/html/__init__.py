"""A flagged table as one HTML file that needs no network: pictures, the flagged readings, the model in words.

Needs the extra ``report``: jinja2, and plotly, whose JavaScript is put into the file.
"""
