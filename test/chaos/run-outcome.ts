import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { listCheckpoints, readEpisodes, readMetrics, readRows, type Row } from '../e2e/support/read-run.js';

/**
 * Everything that a run has produced, without what depends on the clock. Two runs of one seed have the same outcome.
 */
export type RunOutcome = Readonly<Record<string, unknown>>;

const sum = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

const withoutClock = (row: Row): Row =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !name.startsWith('seconds')));

export function readOutcome(run: string): RunOutcome {
  const file = (name: string): string => path.join(run, name);
  const checkpoints = listCheckpoints(run);
  const newest = file(`checkpoints/${checkpoints.at(-1) ?? 'none'}/model.safetensors`);
  return {
    metrics: readMetrics(run),
    evaluations: existsSync(file('evaluations.jsonl')) ? readRows(file('evaluations.jsonl')).map(withoutClock) : [],
    episodes: readEpisodes(run)
      .map(
        (row) =>
          `${String(row['step'])} ${String(row['episode_id'])} ${String(row['status'])} ${String(row['reward'])}`,
      )
      .toSorted(),
    newest: checkpoints.at(-1),
    latest: readFileSync(file('checkpoints/latest'), 'utf8').trim(),
    weights: sum(newest),
    leftovers: [...readdirSync(run), ...readdirSync(file('checkpoints'))].filter((name) => name.startsWith('.')),
    writer: existsSync(file('writer.json')),
  };
}

/** Returns the difference in words, or undefined if there is none. */
export function findDifference(wanted: RunOutcome, found: RunOutcome): string | undefined {
  for (const name of Object.keys(wanted)) {
    const [one, other] = [wanted[name], found[name]];
    if (isDeepStrictEqual(one, other)) continue;
    if (!Array.isArray(one) || !Array.isArray(other))
      return `${name}: ${JSON.stringify(one)}, now ${JSON.stringify(other)}`;
    const at = one.findIndex((value, index) => !isDeepStrictEqual(value, other[index]));
    const place = at === -1 ? one.length : at;
    return `${name}[${place}] of ${one.length}: ${JSON.stringify(one[place])}, now ${JSON.stringify(other[place])} of ${other.length}`;
  }
  return undefined;
}
