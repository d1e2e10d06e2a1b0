"""Reports: figures and tables that follow from stored records alone, and HTML reports of flagged tables."""
