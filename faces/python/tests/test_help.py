"""What `help()` says."""

from __future__ import annotations

import inspect

import isoform


def test_help_says_what_each_class_and_method_is() -> None:
    for name in isoform.__all__:
        item = getattr(isoform, name)
        if not inspect.isclass(item) or issubclass(item, Exception):
            continue
        doc = inspect.getdoc(item) or ""
        assert len(doc) > 15 and "See `isoform" not in doc, name
        if item.__module__ != "isoform":
            continue
        for method in dir(item):
            if not method.startswith("_"):
                assert inspect.getdoc(getattr(item, method)), f"{name}.{method}"


def test_the_package_has_a_version() -> None:
    assert isoform.__version__.count(".") == 2
