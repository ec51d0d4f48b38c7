import { cellName, chooseCells, type Cell } from './cells.js';
import { gateCell } from './gate-cell.js';
import { planGate } from './plan-gate.js';
import { parseOptions } from './parse-options.js';
import { recordCell } from './record-cell.js';
import { readCommit } from './release-identity.js';
import { writeReleasesPage } from './releases-page.js';

/**
 * `npm run releases`: trains the cells and keeps their results under the present version. With `--gate` it keeps nothing
 * and says whether the present code still learns as well and as fast as the kept releases did. `--minutes 80` begins with another
 * cell each day, and no cell that could last longer than what is left.
 */

const values = parseOptions({
  options: {
    only: { type: 'string' },
    backbone: { type: 'string' },
    seeds: { type: 'string', default: '1,2,3' },
    cheapest: { type: 'boolean', default: false },
    gate: { type: 'boolean', default: false },
    minutes: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});

const say = (line: string): void => void process.stderr.write(`${line}\n`);

function parseSeeds(text: string): readonly number[] {
  const seeds = text.split(',').map(Number);
  const wrong = seeds.find((seed) => !Number.isInteger(seed) || seed < 0);
  if (wrong !== undefined) throw new Error(`--seeds is "${text}"; it must be whole numbers such as 1,2,3.`);
  return seeds;
}

function parseMinutes(text: string | undefined): number {
  const minutes = Number(text ?? Infinity);
  if (minutes > 0) return minutes;
  throw new Error(`--minutes is "${text}"; it must be a number such as 80.`);
}

async function gate(chosen: readonly Cell[]): Promise<void> {
  const plan = planGate(chosen, { minutes: parseMinutes(values.minutes), day: Math.floor(Date.now() / 86_400_000) });
  const counts = { cells: chosen.length, red: 0, yellow: 0, green: 0, not_reached: 0 };
  for (const cell of plan.cells) {
    if (!plan.fits(cell)) {
      counts.not_reached++;
      say(`${cellName(cell)}: not reached in time`);
      continue;
    }
    const { color, reasons } = await gateCell(cell, say);
    counts[color]++;
    say(`${cellName(cell)}: ${color}${reasons.map((reason) => `\n  ${reason}`).join('')}`);
  }
  if (values.json) process.stdout.write(`${JSON.stringify(counts)}\n`);
  else
    say(
      `${counts.green} green, ${counts.yellow} yellow, ${counts.red} red of ${counts.cells} cells, ${counts.not_reached} not reached`,
    );
  process.exitCode = counts.red > 0 ? 1 : 0;
}

async function record(chosen: readonly Cell[]): Promise<void> {
  if (!readCommit().clean)
    throw new Error('The working tree has changes, so a result would not name its code. Commit or stash them first.');
  const files: string[] = [];
  for (const cell of chosen) files.push(await recordCell(cell, parseSeeds(values.seeds), say));
  writeReleasesPage();
  if (values.json) process.stdout.write(`${JSON.stringify({ cells: chosen.length, files })}\n`);
}

/** Without the cells that need what is not installed here. */
function leaveOutMissing(chosen: readonly Cell[]): readonly Cell[] {
  const missing = chosen.filter(({ needs }) => needs !== undefined && !needs.isHere());
  for (const cell of missing) say(`${cellName(cell)}: left out, it needs ${cell.needs?.what}`);
  if (missing.length === chosen.length) throw new Error('Nothing is left to run.');
  return chosen.filter((cell) => !missing.includes(cell));
}

try {
  const chosen = leaveOutMissing(chooseCells(values));
  await (values.gate ? gate(chosen) : record(chosen));
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
