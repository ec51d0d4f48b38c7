/**
 * `npm run chaos -- --minutes 25 --seed 1 [--json]` tries everything that can go wrong around a run, drawn from a seed.
 * It writes each failure to stderr with its case. `--only kills --first 12 --cases 1` runs one case alone.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { causeChaos, isSound } from './cause-chaos.js';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
    first: { type: 'string', default: '0' },
    cases: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});

function toNumber(name: string, text: string, isWhole: boolean): number {
  const value = Number(text);
  if (text !== '' && Number.isFinite(value) && value >= 0 && (!isWhole || Number.isInteger(value))) return value;
  throw new Error(`${name} is ${JSON.stringify(text)}; it must be a ${isWhole ? 'whole ' : ''}number, at least 0.`);
}

const folder = mkdtempSync(path.join(tmpdir(), 'agentjet-chaos-'));
try {
  const report = await causeChaos({
    folder,
    minutes: toNumber('--minutes', values.minutes, false),
    seed: toNumber('--seed', values.seed, true),
    only: values.only,
    first: toNumber('--first', values.first, true),
    cases: values.cases === undefined ? undefined : toNumber('--cases', values.cases, true),
  });
  if (values.json) console.log(JSON.stringify(report));
  else for (const [name, value] of Object.entries(report)) console.log(`${name.replaceAll('_', ' ')}: ${value}`);
  process.exitCode = isSound(report) ? 0 : 1;
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
process.exit(); // does not wait for open connections and idle processes
