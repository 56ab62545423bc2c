"""The cases of every family of operations, each a call of torch with torch itself as the oracle."""

from importlib import import_module

from lessonpress.replay import operations
from lessonpress.replay.operations.torch_cases import Case, LayerCase

FAMILIES: dict[str, list[Case | LayerCase]] = {
    family: import_module(f"{operations.__name__}.{family}.cases").CASES for family in operations.FAMILIES
}
ALL = [one for cases in FAMILIES.values() for one in cases]

__all__ = ["ALL", "FAMILIES", "Case", "LayerCase"]
