import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

export type Row = Readonly<Record<string, unknown>>;

/** Returns the run folders of the experiment `e2e`, oldest first. */
export function listRuns(folder: string): readonly string[] {
  const parent = path.join(folder, 'saved_experiments/e2e');
  return readdirSync(parent)
    .toSorted()
    .map((name) => path.join(parent, name));
}

/** Returns the only run of the experiment. */
export function onlyRun(folder: string): string {
  const runs = listRuns(folder);
  if (runs.length !== 1 || runs[0] === undefined) throw new Error(`expected one run, found ${runs.length}`);
  return runs[0];
}

export function readRows(file: string): readonly Row[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row);
}

/** Reads metrics.jsonl without what depends on the clock. */
export function readMetrics(run: string): readonly Row[] {
  return readRows(path.join(run, 'metrics.jsonl')).map((row) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => !name.startsWith('seconds'))),
  );
}

export function readEpisodes(run: string): readonly Row[] {
  const dir = path.join(run, 'episodes');
  return readdirSync(dir)
    .toSorted()
    .flatMap((name) => readRows(path.join(dir, name)));
}

export function listCheckpoints(run: string): readonly string[] {
  return readdirSync(path.join(run, 'checkpoints'))
    .filter((name) => name.startsWith('step-'))
    .toSorted();
}

/**
 * Reads the episodes without values that may differ in another run with the same seed: times, and the last digit of
 * logprobs. This digit depends on which other calls were answered at the same time. In an on-policy run, the gradient
 * does not depend on it.
 */
export function readRepeatableEpisodes(run: string): readonly Row[] {
  return readEpisodes(run).map((episode) => {
    const { seconds: _seconds, seconds_judging: _judging, began_at: _began, ...row } = episode;
    const { spans = [], samples, turns } = row as Readonly<Record<string, readonly Row[] | undefined>>;
    return {
      ...row,
      spans: spans.map(({ name }) => name),
      samples: samples?.map((sample) => ({ ...sample, logprobs: undefined })),
      turns: turns?.map((turn) => ({ ...turn, times: undefined })),
    };
  });
}
