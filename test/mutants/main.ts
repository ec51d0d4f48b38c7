/**
 * `npm run mutants [-- --json]` plants known mistakes into the sources, one at a time and only in memory, and checks
 * that the tests notice each. The last line of output with --json is `{ "planted", "killed" }`. The exit code is 1 if a
 * mutant survives.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { killers, mutants, type Mutant } from './mutants.js';
import { plantMutant } from './plant-mutant.js';
import { runTests } from './run-tests.js';

const root = path.resolve(import.meta.dirname, '../..');
const isJson = process.argv.includes('--json');

for (const mutant of mutants) plantMutant(mutant, await readFile(path.join(root, mutant.file), 'utf8'));
const healthy = await runTests(root, killers, undefined);
if (healthy.failed.length > 0) throw new Error(`The tests fail without a mutant: ${healthy.failed.join('; ')}.`);

let killed = 0;
for (const [index, mutant] of mutants.entries()) {
  const { failed } = await runTests(root, killers, index);
  if (failed.length > 0) killed++;
  if (!isJson) console.log(describe(mutant, failed, healthy.numTests));
}
console.log(
  isJson ? JSON.stringify({ planted: mutants.length, killed }) : `${killed} of ${mutants.length} mutants killed`,
);
process.exitCode = killed === mutants.length ? 0 : 1;

function describe({ name, file }: Mutant, failed: readonly string[], numTests: number): string {
  const outcome =
    failed.length > 0 ? `killed by ${failed.length} of ${numTests} tests, first: ${failed[0]}` : 'SURVIVED';
  return `${name} (${file})\n  ${outcome}`;
}
