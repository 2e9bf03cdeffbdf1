"""Signatures, and their text in compiled code."""

from __future__ import annotations

from dataclasses import astuple
from types import ModuleType

import pytest

from jetpy import workloads
from jetpy.kernel_language import Kind, Signature, View, Width
from jetpy.kernel_language.reading import read_workunits
from jetpy.kernel_language.signature import signatures_as_text, signatures_from

SIGNATURE = Signature(
    "put", Kind.SCAN, ("graph", "n"), (("graph", "indptr"), ("n", None)), (View("int64"), "int32")
)


def test_arguments_combine_parameters_and_fields() -> None:
    assert SIGNATURE.arguments == {"graph_indptr": View("int64"), "n": "int32"}


@pytest.mark.parametrize("width", Width)
@pytest.mark.parametrize("module", workloads.MODULES, ids=lambda m: m.__name__.rpartition(".")[2])
def test_signatures_are_written_as_text_and_read_back(module: ModuleType, width: Width) -> None:
    signatures = [workunit.signature for workunit in read_workunits(module, width).values()]
    again = signatures_from(signatures_as_text(signatures))
    assert list(map(astuple, again)) == list(map(astuple, signatures))
