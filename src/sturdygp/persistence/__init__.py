"""Fitted models as files: a zip of plain arrays and one JSON document, without pickle.

Classes are looked up in tables, never imported by the name that a file gives, and every size is checked
before anything is read: loading a file from anywhere runs no code and fills no memory beyond its own size.
"""
