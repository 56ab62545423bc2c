"""How fast a lesson's page is, as medians: `python benchmarks/bench_page.py [LESSON] [--runs 15]`.

Prints the time from navigation to content (first contentful paint) and to a page that is ready (the self-test is
done), the time in which a slider's move is computed and drawn, and the page's weight. Aims: content within 200 ms, a
move within 16 ms, 300 kB, 90 kB compressed.
"""

import argparse
import gzip
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
MOVES = 60  # positions of the slider
PAINT = """() => new Promise((done) => {
  const seen = performance.getEntriesByName("first-contentful-paint")[0];
  if (seen) done(seen.startTime);
  else new PerformanceObserver((list) => done(list.getEntries()[0].startTime)).observe({type: "paint", buffered: true});
})"""
# The work of a frame: the program, the figures, style and layout. Waiting for the frame is not counted.
WORK = """async (moves) => {
  const slider = document.querySelector(".master input, .knob input[type=range]");
  const [low, high] = [Number(slider.min), Number(slider.max)];
  const native = globalThis.requestAnimationFrame;
  const took = [];
  globalThis.requestAnimationFrame = (work) => native((now) => {
    const begin = performance.now();
    work(now);
    document.body.offsetHeight;
    took.push(performance.now() - begin);
  });
  for (let i = 0; i < moves; i++) {
    slider.value = low + ((high - low) * (i + 0.5)) / moves;
    slider.dispatchEvent(new Event("input"));
    await new Promise((done) => native(() => native(done)));
  }
  return took;
}"""


def row(name: str, values: list[float], unit: str) -> None:
    """Print a median with the smallest and the largest value."""
    print(f"{name:34} {statistics.median(values):8.1f} {unit}   ({min(values):.1f} to {max(values):.1f})")


def timed(shown: Page, address: str) -> tuple[float, float]:
    """Open a page: milliseconds to its first content and to its finished self-test."""
    shown.goto(address)
    paint = float(shown.evaluate(PAINT))
    shown.wait_for_selector(".self-test:not(:empty)", state="attached")
    return paint, float(shown.evaluate("performance.now()"))


def main() -> None:
    """Preview the lesson, open its page again and again, and print the medians."""
    project = Path(__file__).resolve().parents[1]
    parser = argparse.ArgumentParser(description=__doc__)
    first = next(iter(sorted((project / "lessons").iterdir())))
    parser.add_argument("lesson", nargs="?", type=Path, default=first)
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "revision"
        command = [sys.executable, "-m", "lessonpress", "preview", str(options.lesson), "--out", str(out)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        file = out / "index.html"
        data = file.read_bytes()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
            shown = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            timed(shown, file.as_uri())
            opened = [timed(shown, file.as_uri()) for _ in range(options.runs)]
            moves = [float(value) for value in shown.evaluate(WORK, MOVES)]
            browser.close()
    row("first content", [paint for paint, _ in opened], "ms")
    row("self-test done", [ready for _, ready in opened], "ms")
    row("a slider's move, computed and drawn", moves, "ms")
    print(f"{'weight':34} {len(data) / 1000:8.1f} kB   ({len(gzip.compress(data, 9)) / 1000:.1f} kB compressed)")


if __name__ == "__main__":
    main()
