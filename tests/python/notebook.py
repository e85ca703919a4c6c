#!/usr/bin/env python3
"""Runs docs/notebook.ipynb, whose cells assert what they show, and looks at what a notebook shows: pages. Needs the
packages nbclient, ipykernel, numpy and pandas."""
import pathlib
import sys

import nbclient
import nbformat

path = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/notebook.ipynb"
notebook = nbformat.read(path, as_version=4)
nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
pages = [output["data"]["text/html"] for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs
         if output.get("data", {}).get("text/html", "").startswith("<iframe")]
print(f"{len(notebook.cells)} cells, {len(pages)} pages of {', '.join(str(len(page)) for page in pages)} characters")
sys.exit(0 if len(pages) == 2 and "Which heads are alike" in pages[1] else 1)
