"""The notebook runs from its beginning to its end, and shows what it says."""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).resolve().parents[1] / "examples" / "first.ipynb"


def test_the_notebook_runs():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    for cell in notebook.cells:
        # What it shows is made anew by whoever runs it.
        assert not cell.get("outputs")
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pages = [output.data["text/html"] for output in shown if "text/html" in output.get("data", {})]
    assert any("<iframe srcdoc=" in page for page in pages)
    said = "".join(output.text for output in shown if output.output_type == "stream")
    assert "SIS_UTIL" in said
    assert "[prev]" in said or "→" in said
