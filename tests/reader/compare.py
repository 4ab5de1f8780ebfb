"""Whether what was read is what was expected; an AssertionError says where it is not."""

from number import Number


def equal(came, expected):
    assert came == expected, f"expected {expected}, found {came}"


def same(came, expected, path):
    """Floats are compared by what the digits are read as."""
    if isinstance(came, Number):
        assert came.is_read_from(expected), f"{path}: expected {expected}, found {came.digits()}"
    elif isinstance(came, dict) and isinstance(expected, dict):
        equal((path, sorted(came)), (path, sorted(expected)))
        for name in expected:
            same(came[name], expected[name], f"{path}.{name}")
    elif isinstance(came, list) and isinstance(expected, list):
        equal((path, len(came)), (path, len(expected)))
        for index, one in enumerate(expected):
            same(came[index], one, f"{path}[{index}]")
    else:
        equal((path, type(came), came), (path, type(expected), expected))
