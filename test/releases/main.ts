import path from 'node:path';
import { chooseCells } from './cells.js';
import { cellName, type Cell } from './cells/cell.js';
import { curvesOfHistory } from './curves-of-history.js';
import { keepCurves } from './curves.js';
import { checkOptions } from './check-options.js';
import { gateCells, type GateOutcome } from './gate-cells.js';
import { gateCell } from './gate-cell.js';
import { planGate } from './plan-gate.js';
import { joinResults } from './join-results.js';
import { parseOptions } from './parse-options.js';
import { recordCell } from './record-cell.js';
import { readCommit } from './release-identity.js';
import { writeReleasesPage } from './releases-page.js';
import { listVersions, readResults, writeResult } from './store.js';

/**
 * `npm run releases` trains the cells and keeps their results under the current version. With `--gate` it keeps
 * nothing, and says whether the current code still learns as well and as fast as the kept releases. `--minutes 80`
 * begins with another cell each day, and does not start a cell that could take longer than the remaining time.
 * `--progress` prints what is known after each cell, one line each. `--out` writes results to another folder, and
 * `--join` keeps results from such folders. `--history` keeps the curves of all results in the history of the repository.
 */

const values = parseOptions({
  options: {
    only: { type: 'string' },
    backbone: { type: 'string' },
    seeds: { type: 'string' },
    cheapest: { type: 'boolean', default: false },
    gate: { type: 'boolean', default: false },
    minutes: { type: 'string' },
    progress: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    out: { type: 'string' },
    join: { type: 'string' },
    history: { type: 'boolean', default: false },
  },
});

const say = (line: string): void => void process.stderr.write(`${line}\n`);

const showCounts = ({ cells, red, yellow, green, not_reached: notReached }: GateOutcome['counts']): string =>
  `${green} green, ${yellow} yellow, ${red} red of ${cells} cells${notReached === undefined ? '' : `, ${notReached} not reached`}`;

async function gate(chosen: readonly Cell[], minutes: number): Promise<void> {
  const print = (object: object): void => void process.stdout.write(`${JSON.stringify(object)}\n`);
  const plan = planGate(chosen, { minutes, day: Math.floor(Date.now() / 86_400_000) });
  const { counts, verdicts } = await gateCells(plan, (cell) => gateCell(cell, say), {
    say,
    onVerdict: (soFar) => {
      if (values.progress) print({ ...soFar.counts, verdicts: soFar.verdicts });
    },
  });
  if (values.progress) print({ ...counts, verdicts });
  else if (values.json) print(counts);
  else say(showCounts(counts));
  process.exitCode = counts.red > 0 ? 1 : 0;
}

function printFiles(cells: number, files: readonly string[]): void {
  if (values.json) process.stdout.write(`${JSON.stringify({ cells, files })}\n`);
}

async function record(chosen: readonly Cell[], seeds: readonly number[]): Promise<void> {
  if (!readCommit().clean)
    throw new Error('The working tree has changes, so a result would not name its code. Commit or stash them first.');
  const files: string[] = [];
  const { out } = values;
  for (const cell of chosen) files.push(await recordCell(cell, { seeds, say, out }));
  if (out === undefined) writeReleasesPage();
  printFiles(chosen.length, files);
}

/** Keeps the results in these folders, which `--out` has filled. */
function join(folders: readonly string[]): void {
  const parts = folders.flatMap((folder) => listVersions(folder).flatMap((version) => readResults(version, folder)));
  if (parts.length === 0) throw new Error(`There are no results in ${folders.join(', ')}.`);
  const joined = joinResults(parts);
  const files = joined.map((result) => path.relative(process.cwd(), writeResult(result)));
  writeReleasesPage();
  printFiles(joined.length, files);
}

/** Keeps the curves of results that newer ones have replaced, and draws them. */
function keepHistory(): void {
  keepCurves(curvesOfHistory(path.resolve(import.meta.dirname, '../..'), say));
  writeReleasesPage();
}

/** Returns the cells whose requirements are installed here. */
function leaveOutMissing(chosen: readonly Cell[]): readonly Cell[] {
  const missing = chosen.filter(({ needs }) => needs !== undefined && !needs.isHere());
  for (const cell of missing) say(`${cellName(cell)}: left out, it needs ${cell.needs?.what}`);
  if (missing.length === chosen.length) throw new Error('Nothing is left to run.');
  return chosen.filter((cell) => !missing.includes(cell));
}

try {
  const { seeds, minutes } = checkOptions(values);
  if (values.history) keepHistory();
  else if (values.join === undefined) {
    const chosen = leaveOutMissing(chooseCells(values));
    await (values.gate ? gate(chosen, minutes) : record(chosen, seeds));
  } else join(values.join.split(','));
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
