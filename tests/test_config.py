"""The settings file: defaults for everything, one message for everything that is no setting."""

from pathlib import Path

import jsonschema
import pytest

from lessonpress.core import canonical_json, config
from lessonpress.core.errors import LessonError, WrongUsage
from lessonpress.core.settings import Config, Limits, Site


def message_of(path: Path, text: str) -> str:
    """The message that a settings file earns, without its folder."""
    path.write_text(text, encoding="utf-8")
    with pytest.raises(LessonError) as caught:
        config.read(path)
    return caught.value.message().replace(f"{caught.value.where.split('settings.yaml')[0]}", "")


def test_without_a_file_every_setting_has_its_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`preview` works in any folder."""
    monkeypatch.chdir(tmp_path)
    assert config.read() == Config()
    assert config.read().limits.wall_seconds == 60


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "site: {}\n"])
def test_what_is_left_out_keeps_its_default(tmp_path: Path, text: str) -> None:
    """An empty file, and an empty section, change nothing."""
    (tmp_path / "settings.yaml").write_text(text)
    assert config.read(tmp_path / "settings.yaml") == Config()


def test_a_setting_is_read(tmp_path: Path) -> None:
    """Settings stand where the file says, also behind a byte order mark."""
    (tmp_path / "settings.yaml").write_text("\ufefflessons: mine\nlimits: {wall_seconds: 5}\n", encoding="utf-8")
    read = config.read(tmp_path / "settings.yaml")
    assert (read.lesson("a"), read.work_dir("a"), read.published("a")) == (
        Path("mine/a"),
        Path("work/a"),
        Path("results/models/a"),
    )
    assert read.limits.wall_seconds == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "site: {titel: x}\n",
            "settings.yaml:1: site.titel: unknown key; known here: author, base_url, title. Did you mean title?",
        ),
        (
            "\nlesons: x\n",
            "settings.yaml:2: lesons: unknown key; known here: batch, earlier, isolation, keep, lessons, limits, "
            "results, signing, site, work. Did you mean lessons?",
        ),
        ("limits:\n  wall_seconds: soon\n", "settings.yaml:2: limits.wall_seconds: 'soon' given; "),
        (
            "limits:\n  wall_seconds: 0\n",
            "settings.yaml:2: limits.wall_seconds: 0 given; input should be greater than 0",
        ),
        ("limits:\n  wall_seconds: true\n", "settings.yaml:2: limits.wall_seconds: True given; "),
        ("lessons: ''\n", "settings.yaml:1: lessons: '' given; "),
        ("site: {base_url: 'https://a.example/'}\n", "settings.yaml:1: site.base_url: 'https://a.example/' given; "),
        ("limits: 5\n", "settings.yaml:1: limits: 5 given; expected a mapping"),
        ("[1, 2]\n", "settings.yaml:1: [1, 2] given; expected a mapping"),
        ("a: 1\na: 2\n", "settings.yaml:2: a: this key stands here twice"),
    ],
)
def test_what_is_no_setting_is_one_message(tmp_path: Path, text: str, message: str) -> None:
    """File, line, key, what stood there and what may."""
    assert message_of(tmp_path / "settings.yaml", text).startswith(message)


def test_several_mistakes_are_reported_together(tmp_path: Path) -> None:
    """A curator mends all of them in one go."""
    assert message_of(tmp_path / "settings.yaml", "lesons: x\nwrk: y\n").count("unknown key") == 2


def test_a_file_that_is_named_must_be_there(tmp_path: Path) -> None:
    """A misspelt --config is no silent return to the defaults."""
    with pytest.raises(LessonError, match="there is no such file"):
        config.read(tmp_path / "nowhere.yaml")


def test_a_file_that_is_no_text_is_one_message(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are a mistake, not a traceback."""
    (tmp_path / "settings.yaml").write_bytes(b"site: \xff\n")
    with pytest.raises(LessonError, match="byte 6 is no UTF-8"):
        config.read(tmp_path / "settings.yaml")


def test_the_published_schema_is_the_settings_own(project: Path) -> None:
    """workflow/schemas/config.schema.json says what the settings record says, with a default for every key."""
    schema = canonical_json.read(project / "workflow" / "schemas" / "config.schema.json")
    assert schema == config.schema(), (
        "write it anew: canon.write(Path('workflow/schemas/config.schema.json'), canon.pretty(config.schema()))"
    )
    jsonschema.Draft202012Validator.check_schema(schema)
    sections = [schema, *schema["$defs"].values()]
    keys = [key for section in sections for key in section["properties"].values()]
    assert all("default" in key for key in keys)
    assert all("description" in key for key in keys)


def test_the_repositorys_own_settings_fit_the_schema(project: Path) -> None:
    """The settings file in use is valid for any reader of JSON Schema, and for us."""
    schema = canonical_json.read(project / "workflow" / "schemas" / "config.schema.json")
    jsonschema.validate(config.read(project / "config.yaml").model_dump(mode="json"), schema)


@pytest.mark.parametrize("text", ["work: results", "results: lessons", "work: results/work", "lessons: work/lessons"])
def test_the_three_folders_lie_apart(tmp_path: Path, text: str) -> None:
    """Scratch inside the site, or the site among the sources, is refused: one would be published or overwritten."""
    file = tmp_path / "config.yaml"
    file.write_text(text + "\n", encoding="utf-8")
    with pytest.raises(LessonError, match="the three folders must lie apart"):
        config.read(file)


SECTION = """\
samples: [a, b]
lessonpress:
  work: scratch
  limits:
    wall_seconds: 5
threshold: 0.5
"""


def test_a_larger_workflow_has_a_section_of_ours(tmp_path: Path) -> None:
    """What stands beside it is the larger workflow's own; a section that is no mapping is no section."""
    file = tmp_path / "settings.yaml"
    file.write_text(SECTION)
    read = config.read(file)
    assert (read.work, read.limits.wall_seconds, read.results) == ("scratch", 5, "results")
    file.write_text("lessonpress: {}\nsamples: [a]\n")
    assert config.read(file) == Config()
    assert message_of(file, "lessonpress: scratch\n").startswith("settings.yaml:1: lessonpress: unknown key; ")


def test_a_mistake_in_the_section_is_reported_at_its_line(tmp_path: Path) -> None:
    """With all the keys that lead to it."""
    message = message_of(tmp_path / "settings.yaml", SECTION.replace("wall_seconds: 5", "wall_second: 5"))
    assert message.startswith("settings.yaml:5: lessonpress.limits.wall_second: unknown key; known here: ")
    assert message.endswith("Did you mean wall_seconds?")


def test_a_file_that_was_edited_is_read_again(tmp_path: Path) -> None:
    """Whoever does one command after the other reads what stands there now."""
    file = tmp_path / "settings.yaml"
    for work in ("one", "two", "one"):
        file.write_text(f"work: {work}\n")
        assert config.read(file).work == work


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ([], Config()),
        (["work=w"], Config(work="w")),
        (["limits.wall_seconds=5", "limits.processes=2"], Config(limits=Limits(wall_seconds=5, processes=2))),
        (["site.title=a=b c"], Config(site=Site(title="a=b c"))),
        (["site.title=5"], Config(site=Site(title="5"))),
        (["site.base_url="], Config()),
        (["work=a", "work=b"], Config(work="b")),
        (["results=work", "work=results"], Config(results="work", work="results")),
    ],
)
def test_settings_can_be_given_on_the_command_line(overrides: list[str], expected: Config) -> None:
    """Each by its keys; a text stays a text, and all of them together must be settings."""
    assert config.override(Config(), overrides) == expected


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("wrk=x", "--set wrk=x: there is no such setting; KEY=VALUE with a key of config.yaml."),
        ("site.title", "--set site.title: there is no such setting; KEY=VALUE with a key of config.yaml."),
        ("work=", "--set: work: String should have at least 1 character."),
        ("limits=5", "--set limits=5: there is no such setting; "),
        ("limits.wall=5", "--set limits.wall=5: there is no such setting; "),
        ("work.a=5", "--set work.a=5: there is no such setting; "),
        ("a.b.c=5", "--set a.b.c=5: there is no such setting; "),
        ("=5", "--set =5: there is no such setting; "),
        ("limits.wall_seconds=soon", "--set: limits.wall_seconds: Input should be a valid integer."),
        ("limits.wall_seconds=0", "--set: limits.wall_seconds: Input should be greater than 0."),
        ("site.base_url=x", "--set: site.base_url: String should match pattern "),
        ("work=results", "--set: results lies in work; the three folders must lie apart."),
    ],
)
def test_what_is_no_setting_is_wrong_usage(override: str, message: str) -> None:
    """With what was typed, and what may be."""
    with pytest.raises(WrongUsage) as caught:
        config.override(Config(), [override])
    assert caught.value.message().startswith(message)
