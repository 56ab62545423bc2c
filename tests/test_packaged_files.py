"""What lessonpress carries beside its code is there in the repository and in an installed package alike."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from lessonpress import __version__
from lessonpress.core import packaged_files
from lessonpress.core.errors import LessonError


def test_files_lie_beside_the_package_or_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    """The repository's folder is taken; inside a package it is preferred; without either the error names it."""
    package = packaged_files.PACKAGE  # what a release tries is installed: there they lie in it
    home = project if package == project / "src" / "lessonpress" else package
    assert packaged_files.path("templates") == home / "templates"
    assert packaged_files.snakefile() == home / "Snakefile"
    monkeypatch.setattr(packaged_files, "PACKAGE", tmp_path / "lib" / "python" / "lessonpress")
    with pytest.raises(LessonError, match=r"templates is missing\. Install lessonpress again\."):
        packaged_files.path("templates")
    for folder in ("lib/templates", "lib/python/lessonpress/templates"):
        (tmp_path / folder).mkdir(parents=True)
        assert packaged_files.path("templates") == tmp_path / folder


def test_the_rules_environment_is_this_version(project: Path) -> None:
    """Where Snakemake is reported to make environments, the rules run the lessonpress that they came with."""
    [*_, pip] = YAML(typ="safe").load((project / "workflow" / "envs" / "lessonpress.yaml").read_text())["dependencies"]
    assert pip == {"pip": [f"lessonpress=={__version__}"]}
