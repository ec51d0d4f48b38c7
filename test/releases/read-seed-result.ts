import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { isJsonObject } from '@agentjet/core';
import { parse } from 'yaml';
import type { JudgeAgreement, SeedResult, Stage } from './cell-result.js';
import { compareTokens, readCurve, type Rewarded } from './sampled-tokens.js';
import { mean } from './statistics.js';

/** Reads the result of one run for the release table. The run folder contains everything that is needed. */

type Line = { readonly [key: string]: unknown };

const number = (line: Line | undefined, key: string): number => (typeof line?.[key] === 'number' ? line[key] : 0);
const numberOrNull = (line: Line | undefined, key: string): number | null =>
  typeof line?.[key] === 'number' ? line[key] : null;

async function readLines(file: string): Promise<readonly Line[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

function withoutSeconds(line: Line): Line {
  return Object.fromEntries(Object.entries(line).filter(([key]) => !key.startsWith('seconds')));
}

async function* readEpisodes(file: string): AsyncGenerator<Line> {
  for await (const text of createInterface({ input: createReadStream(file, 'utf8') })) yield JSON.parse(text) as Line;
}

/** The length of an ending, in characters. */
const longestEnding = 200;

/** Returns what the workflow reported: its metadata, or its error. */
function describeEnding({ reward, metadata, error }: Line): string {
  return JSON.stringify(error === undefined ? { reward, metadata } : { error }).slice(0, longestEnding);
}

/** Throws for an episode without a task, because its outcome would be kept under the name "undefined". */
function taskOf({ task_id: task, episode_id: id }: Line): string {
  if (typeof task === 'string') return task;
  throw new Error(`The line of episode ${String(id)} has no task_id.`);
}

/**
 * Reads the evaluation after `step`. `outcomes` says whether every repeat of a task succeeded. `endings` says how an
 * episode of the task ended: the first one that failed, or else the first one.
 */
export async function readHeldOut(
  runDir: string,
  step: number,
): Promise<{
  readonly outcomes: Readonly<Record<string, boolean>>;
  readonly endings: Readonly<Record<string, string>>;
}> {
  const outcomes: Record<string, boolean> = {};
  const endings: Record<string, string> = {};
  for await (const episode of readEpisodes(
    path.join(runDir, 'episodes', `step-${String(step).padStart(6, '0')}.jsonl`),
  )) {
    if (episode['phase'] !== 'evaluation') continue;
    const task = taskOf(episode);
    const isSuccess = episode['is_success'] === true;
    if (outcomes[task] === undefined || (outcomes[task] && !isSuccess)) endings[task] = describeEnding(episode);
    outcomes[task] = (outcomes[task] ?? true) && isSuccess;
  }
  return { outcomes, endings };
}

/** Returns the seconds of the judge over all episodes of a run. */
async function readJudging(runDir: string): Promise<number> {
  const folder = path.join(runDir, 'episodes');
  let seconds = 0;
  for (const name of await readdir(folder))
    for await (const episode of readEpisodes(path.join(folder, name))) seconds += number(episode, 'seconds_judging');
  return seconds;
}

/** The prefixes of keys in an evaluation, and the fields of the result with these values. */
const prefixes = { parts: 'judge/', kinds: 'success/' } as const;

/** Returns the parts of the judge's rewards in an evaluation, and success by kind, or no field for what it does not have. */
function partsOf(when: 'before' | 'after', line: Line | undefined): Partial<SeedResult> {
  const fields = Object.entries(prefixes).flatMap(([name, prefix]) => {
    const values = Object.entries(line ?? {}).flatMap(([key, value]) =>
      key.startsWith(prefix) && typeof value === 'number' ? [[key.slice(prefix.length), value] as const] : [],
    );
    return values.length === 0 ? [] : [[`${name}_${when}`, Object.fromEntries(values)] as const];
  });
  return Object.fromEntries(fields);
}

/** Returns the folder of the only run in an experiment folder. This folder may also contain files of task readers. */
export async function findRunDir(experimentDir: string): Promise<string> {
  const [experiment = ''] = await readdir(experimentDir);
  const names = (await readdir(path.join(experimentDir, experiment))).filter((name) => /^\d{4}-/.test(name));
  return path.join(experimentDir, experiment, names[0] ?? '');
}

/** Returns success on the held-out tasks before and after the training of a run. */
export async function readSuccess(runDir: string): Promise<Pick<SeedResult, 'success_before' | 'success_after'>> {
  const evaluations = await readLines(path.join(runDir, 'evaluations.jsonl'));
  const first = evaluations.find((line) => line['step'] === 0);
  const last = evaluations.at(-1);
  return {
    success_before: numberOrNull(first, 'success_rate'),
    success_after: number(last, 'step') === 0 ? null : numberOrNull(last, 'success_rate'),
  };
}

/** Returns the source of the weights that the run began with, or no field for a bundled model or a plain folder. */
export async function readModelSource(runDir: string): Promise<Pick<SeedResult, 'model_source'>> {
  const [record] = await readLines(path.join(runDir, 'model.json'));
  const source = record?.['source'];
  return isJsonObject(source) ? { model_source: source } : {};
}

/** The steps at which the training curve is quoted. */
const quotedSteps = [5, 10, 20, 40];

type Given = Pick<SeedResult, 'seed' | 'speed'> & {
  readonly seconds: number;
  readonly peakBytes: number;
  readonly load: readonly number[];
  readonly stages: readonly Stage[];
  readonly rewarded?: Rewarded | undefined;
  readonly judge?: JudgeAgreement | undefined;
};

type Timed = {
  readonly steps: readonly Line[];
  readonly evaluations: readonly Line[];
  readonly total: number;
  readonly judge: number;
};

function readSeconds({ steps, evaluations, total, judge }: Timed): SeedResult['seconds'] {
  const sum = (lines: readonly Line[], key: string): number => lines.reduce((so, line) => so + number(line, key), 0);
  const [sampling, training] = [sum(steps, 'seconds_sampling'), sum(steps, 'seconds_training')];
  const evaluation = sum(evaluations, 'seconds');
  return { sampling, training, evaluation, rest: Math.max(0, total - sampling - training - evaluation), total, judge };
}

/** `seconds` is the wall time of the whole run. */
export async function readSeedResult(
  runDir: string,
  { seed, speed, seconds, peakBytes, load, stages, rewarded, judge }: Given,
): Promise<SeedResult> {
  const steps = await readLines(path.join(runDir, 'metrics.jsonl'));
  if (steps.length === 0) throw new Error(`${runDir}/metrics.jsonl holds no step: the run trained nothing.`);
  const evaluations = await readLines(path.join(runDir, 'evaluations.jsonl'));
  const first = evaluations.find((line) => line['step'] === 0);
  const last = evaluations.at(-1);
  const success = steps.map((step) => number(step, 'success_rate'));
  const total = (key: string): number => steps.reduce((sum, step) => sum + number(step, key), 0);
  const sampled = rewarded && compareTokens({ fromTeacher: await readCurve(runDir), ...rewarded });
  const at = quotedSteps.map((step) => [String(step), success[step - 1] ?? null] as const);
  return {
    seed,
    ...(stages.length > 0 && { stages }),
    ...(judge !== undefined && { judge }),
    ...(await readModelSource(runDir)),
    ...(await readSuccess(runDir)),
    ...partsOf('before', first),
    ...partsOf('after', last),
    success_at: { ...Object.fromEntries(at), end: success.at(-1) ?? null },
    success_mean_last_20: mean(success.slice(-20)),
    area_under_curve: mean(success),
    generated_tokens: total('generated_tokens'),
    ...(sampled && { sampled_tokens: sampled }),
    trained_tokens: total('trained_tokens'),
    seconds: readSeconds({ steps, evaluations, total: seconds, judge: await readJudging(runDir) }),
    peak_gib: Number((peakBytes / 2 ** 30).toFixed(2)),
    load,
    forks: total('forks'),
    failed_episodes: total('failed_episodes'),
    groups_skipped: total('groups_skipped'),
    logprob_gap_mean: mean(steps.map((step) => number(step, 'logprob_gap_mean'))),
    metrics_sha256: sha256(steps.map((step) => JSON.stringify(withoutSeconds(step))).join('\n')),
    speed,
    ...(number(last, 'step') === 0 ? { outcomes: {} } : await readHeldOut(runDir, number(last, 'step'))),
  };
}

/**
 * Returns the hash of the resolved configuration without the values that differ between runs and machines: the seed,
 * the experiment folder, and the beginnings `roots` of paths and addresses.
 */
export async function hashConfig(runDir: string, roots: readonly string[]): Promise<string> {
  const written = await readFile(path.join(runDir, 'config.yaml'), 'utf8');
  const text = roots.reduce((shorter, root) => shorter.replaceAll(`${root}/`, ''), written);
  const { ajet } = parse(text) as { ajet: Record<string, unknown> };
  const { experiment_dir: _dir, trainer_common: common, ...rest } = ajet;
  const { seed: _seed, ...trainer } = common as Record<string, unknown>;
  return sha256(JSON.stringify({ ...rest, trainer_common: trainer }));
}
