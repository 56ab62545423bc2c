"""Scripts made lighter: the same program, held against a parser; what cannot be told apart is refused."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from lessonpress.core import script_modules
from lessonpress.replay import operations
from lessonpress.replay.operations import script
from lessonpress.replay.statistics import STATISTICS
from lessonpress.web.page import scripts, shrink
from tests import javascript_runner
from tests.test_script_modules import FILES

# Each as it is written, and as it must come out.
SNIPPETS = {
    "if (a) /re  x/.test(b);": "if(a)/re  x/.test(b);",
    "x = 5 .toFixed();": "x=5 .toFixed();",
    "x = 1..toFixed() + .5;": "x=1..toFixed()+.5;",
    "while (f(a)) /  /.test(b);": "while(f(a))/  /.test(b);",
    "x = (a + b) / c / d; y = 'q  q';": "x=(a+b)/c/d;y='q  q';",
    "const f = () => /a  b/.test(x);": "const f=()=>/a  b/.test(x);",
    "x = y++ / 2; z = ' / ';": "x=y++/2;z=' / ';",
    "x = a[1]  / 2 / 3;": "x=a[1]/2/3;",
    "x = a.of / 2 / b.return / 3;": "x=a.of/2/b.return/3;",
    "return /a  '/.exec(z);": "return/a  '/.exec(z);",
    "x = /[/]  '/; y = '  ';": "x=/[/]  '/;y='  ';",
    "x = /a/ in b;": "x=/a/ in b;",
    "x = a / /b  /.lastIndex;": "x=a/ /b  /.lastIndex;",
    "x = `a  ${ x + `  b ${ y }` }  // c`;": "x=`a  ${ x + `  b ${ y }` }  // c`;",
    "x = `${ { a: '}' }.a }  y`;": "x=`${ { a: '}' }.a }  y`;",
    "x = a + +b - -c; a++ + ++b;": "x=a+ +b- -c;a++ + ++b;",
    "x = a < !--b; y = a-- > b;": "x=a< !--b;y=a-- >b;",
    "x = a ? .5 : b?.c ?? d;": "x=a?.5:b?.c??d;",
    "{ a(); b; } if (c) { d = {}; }": "{a();b}if(c){d={};}",
    "{ for (;;) ; } { while (a()) ; } { if (b) c; else ; }": "{for(;;);}{while(a());}{if(b)c;else;}",
    "typeof  x; /* c */ delete  y.z; // d": "typeof x;delete y.z;",
    '"//" + \'/*\' // e\n;': "\"//\"+'/*';",
}
# Node prints whether two scripts are parsed to the same tree, places apart; `raw` tells 1.0 from 1.
SAME_TREE = """
import { readFileSync } from "node:fs";
import { parse } from "acorn";
const tree = (text) => JSON.stringify(parse(text, { ecmaVersion: 2023, allowReturnOutsideFunction: true }),
  (key, value) => (key === "start" || key === "end" ? undefined : typeof value === "bigint" ? String(value) : value));
const pairs = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(pairs.map(([name, a, b]) => tree(a) === tree(b) ? null : name).filter(Boolean)));
"""


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_what_is_hard_to_tell_apart(snippet: str) -> None:
    """A slash that divides and one that begins an expression, templates, signs and words side by side."""
    assert shrink.shrink_script(snippet) == SNIPPETS[snippet]


@pytest.mark.parametrize(
    ("text", "message"),
    [("a;\n} /b/", "line 2: a slash after a closing brace"), ("a;\n\n'b", "line 3: .* begins no token"),
     ("`a${b}", "does not end"), ("`${`", "does not end")],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(text: str, message: str) -> None:
    """A script is never changed on a guess."""
    with pytest.raises(ValueError, match=message):
        shrink.shrink_script(text)


def all_scripts() -> dict[str, str]:
    """Every module of ours, and whole scripts as a page carries them."""
    known = {str(path): script_modules.read_module(path).text for path in FILES}
    names = sorted(operations.TABLE)
    live = {"program": {"operations": names}, "families": {name: operations.TABLE[name].family for name in names},
            "metrics": [{"statistic": name} for name in STATISTICS]}  # fmt: skip
    known["a page with every operation"] = "\n".join(scripts.join_scripts(["live", "predict", "console"], live))
    return known | {"snippet: " + text: text for text in SNIPPETS}


@pytest.mark.browser
def test_every_script_is_parsed_to_the_same_tree(project: Path) -> None:
    """The round trip: a parser of JavaScript sees no difference between a script and the lighter one."""
    if not (project / "node_modules" / "acorn").is_dir():
        pytest.skip("acorn is not installed here: make lint installs it")
    pairs = [(name, text, shrink.shrink_script(text)) for name, text in all_scripts().items()]
    assert sum(len(small) for _, _, small in pairs) < 0.9 * sum(len(text) for _, text, _ in pairs)
    done = subprocess.run(["node", "--input-type=module", "--eval", SAME_TREE], input=json.dumps(pairs), cwd=project,
                          capture_output=True, text=True, check=False, timeout=120)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


def test_scripts_shrunk_one_by_one_are_the_whole_shrunk() -> None:
    """Where each file is worked on once and kept, the page carries the very bytes that it carried otherwise."""
    parts = ["(() => {", *(script_modules.read_module(path).text for path in FILES), "})();"]
    assert shrink.join_scripts(parts) == shrink.shrink_script("\n".join(parts))


@pytest.mark.browser
def test_all_kernels_survive_shrinking(tmp_path: Path) -> None:
    """The whole operation table, shrunk, defines the same kernels and computes the same product."""
    text = operations.javascript(script.kernels())
    main = "const main = () => [Object.keys(op).sort(), [...flat(op.matmul(tensor([[1, 2]]), tensor([[3], [4]])))]];"
    whole, small = (
        javascript_runner.run(each, None, folder=tmp_path) for each in (text + main, shrink.shrink_script(text + main))
    )
    assert whole == small
    assert small == [sorted(operations.kernels()), [11]]
