import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import {
  AgentJetError,
  codeOfError,
  isJsonObject,
  parseJson,
  parseJsonObject,
  toErrorMessage,
  valueAtPath,
} from '@agentjet/core';
import { openRunFolder, type EpisodeIndex } from '@agentjet/run-folder';
import type { EpisodeOf, ExaminedRun, ExaminedSettings } from '../examined-run.js';
import { toSeries } from '../figures/series.js';
import { mapMetrics, type MetricsDialect } from './map-metrics.js';
import { toMetricLine, type MetricLine } from './metric-line.js';
import { ownMetrics } from './own-metrics.js';
import { readExaminedSettings } from './read-settings.js';
import { toEpisode } from './to-episode.js';
import { trlMetrics } from './trl.js';
import { verlMetrics } from './verl.js';

/**
 * Reads what causes need from a run folder, or from a file of metrics: metrics.jsonl of a run, TRL's
 * trainer_state.json or its logs as lines, or verl's file log. Throws AgentJetError `unknown_records` for other files,
 * and the errors of `openRunFolder`.
 */
export async function readRun(where: string): Promise<ExaminedRun> {
  const isFolder = await stat(where).then(
    (entry) => entry.isDirectory(),
    (cause: unknown) => {
      const problem = codeOfError(cause) === 'ENOENT' ? 'does not exist' : `cannot be read: ${toErrorMessage(cause)}`;
      throw new AgentJetError('unknown_records', `${where} ${problem}. Name a run folder or a file of metrics.`, {
        cause,
      });
    },
  );
  return isFolder ? readFolder(where) : readMetrics(where);
}

async function readFolder(dir: string): Promise<ExaminedRun> {
  const run = await openRunFolder(dir);
  const index = await run.openIndex();
  const { keys } = index;
  const settings = {
    ...readExaminedSettings(await run.readConfig()),
    ...(keys.kindField !== null && { reportBy: keys.kindField }),
    ...(isPolicy(dir) && { isOneOfSeveral: true }),
  };
  const [metrics, evaluations] = [await run.readMetrics(), await run.readEvaluations()];
  if (metrics.length === 0) await refusePolicies(dir);
  const trained = mapMetrics(metrics.flatMap(toLines), { ...ownMetrics, evaluationOf: () => undefined });
  const evaluated = mapMetrics(evaluations.flatMap(toLines), { ...ownMetrics, figures: {}, partOf: () => undefined });
  const episodes: EpisodeOf[] = [];
  const steps = await run.episodes.steps();
  const read = chooseSteps(
    steps,
    evaluations.map(({ step }) => step),
  );
  for (const step of read) episodes.push(...(await readStep(index, step)));
  const tasks = await countTasks(dir);
  return {
    source: 'run folder',
    ...trained,
    evaluations: evaluated.evaluations,
    groups: toSeries(
      metrics,
      ({ step }) => step,
      (line) => line['groups'],
    ),
    settings,
    ...(tasks !== undefined && { trainingTasks: tasks }),
    episodes: episodes.length === 0 ? undefined : episodes,
    ...(read.length < steps.length && { episodesOf: { read: read.length, steps: steps.length } }),
  };
}

/** The tokens of an episode are not read: its row has their hash. */
async function readStep(index: EpisodeIndex, step: number): Promise<readonly EpisodeOf[]> {
  // Later places of an evaluation are sampled with the settings of training.
  const rows = (await index.rowsOf(step)).filter(
    ({ phase, repeat_index: place }) => phase === 'train' || place < index.keys.valPassN,
  );
  const heads = await index.readHeads(
    step,
    rows.filter(({ phase }) => phase === 'train'),
  );
  let next = 0;
  return rows.map((row) => toEpisode(row, row.phase === 'train' ? heads[next++] : undefined, index.keys));
}

/** Whether the folder has the records of one of several policies: `<run>/policies/<name>`. */
function isPolicy(dir: string): boolean {
  const parent = path.dirname(path.resolve(dir));
  return path.basename(parent) === 'policies' && existsSync(path.join(parent, '..', 'config.yaml'));
}

/** A run of several policies has the records of each in a separate folder. */
async function refusePolicies(dir: string): Promise<void> {
  const names = await readdir(path.join(dir, 'policies')).catch(() => []);
  if (names.length > 0)
    throw new AgentJetError(
      'several_policies',
      `${dir} is a run of several policies: ${names.join(', ')}. Examine one of them: ${path.join(dir, 'policies', names[0] ?? '')}.`,
    );
}

/** In a longer run, only the episodes of this many steps are read. They are enough to find the causes. */
const mostSteps = 200;

/** Returns the first and the last steps, those with an evaluation, and others evenly. */
export function chooseSteps(steps: readonly number[], evaluated: readonly number[]): readonly number[] {
  if (steps.length <= mostSteps) return steps;
  const ends = new Set([...steps.slice(0, 5), ...steps.slice(-20), ...evaluated.slice(0, 1), ...evaluated.slice(-1)]);
  const stride = steps.length / (mostSteps - ends.size);
  return steps.filter((step, at) => ends.has(step) || Math.floor(at / stride) > Math.floor((at - 1) / stride));
}

/** A line without a step is not a line of metrics. */
function toLines(value: unknown): readonly MetricLine[] {
  const line = toMetricLine(value);
  return line === undefined ? [] : [line];
}

async function countTasks(dir: string): Promise<number | undefined> {
  const text = await readFile(path.join(dir, 'tasks.json'), 'utf8').catch(() => '{}');
  const tasks = valueAtPath(parseJsonObject(text), ['training', 'tasks']);
  return typeof tasks === 'number' ? tasks : undefined;
}

async function readMetrics(file: string): Promise<ExaminedRun> {
  const { source, dialect, lines, settings = {} } = recognize(await readFile(file, 'utf8'), file);
  const mapped = withSuccess(mapMetrics(lines, dialect));
  const groups = toSeries(
    lines,
    ({ step }) => step,
    ({ numbers }) => numbers.get('groups'),
  );
  return { source, ...mapped, groups, settings, episodes: undefined };
}

/** A mean reward that is a share counts as success if the log has no other measure of it. */
function withSuccess(mapped: ReturnType<typeof mapMetrics>): ReturnType<typeof mapMetrics> {
  const { figures, parts, evaluations } = mapped;
  const { reward, success } = figures;
  const isShare = reward?.values.every((value) => value >= 0 && value <= 1) === true;
  if (reward === undefined || success !== undefined || !isShare || parts.size > 1 || evaluations.length > 0)
    return mapped;
  return { ...mapped, figures: { ...figures, success: reward } };
}

type Recognized = {
  readonly source: ExaminedRun['source'];
  readonly dialect: MetricsDialect;
  readonly lines: readonly MetricLine[];
  readonly settings?: ExaminedSettings;
};

/** A line of a step has the version of its policy. Its success is that of training, and not of an evaluation. */
const ownLines: MetricsDialect = {
  ...ownMetrics,
  evaluationOf: (line) => (line.numbers.has('policy_version') ? undefined : ownMetrics.evaluationOf(line)),
};

/** The metrics that every line of a run of ours or of TRL has. */
const ownNames = ['policy_version', 'reward_mean'];
const trlNames = ['reward', 'rewards', 'kl', 'completions/mean_length'];

function recognize(text: string, file: string): Recognized {
  const whole = parseJson(text);
  const history = isJsonObject(whole) ? whole['log_history'] : undefined;
  if (Array.isArray(history))
    return { source: 'trainer_state.json', dialect: trlMetrics, lines: history.flatMap(toLines) };
  const lines = text.split('\n').map(parseJson).filter(isJsonObject);
  const nested = lines.flatMap(({ step, data }) => (isJsonObject(data) ? toLines({ ...data, step }) : []));
  if (nested.length > 0) return { source: 'verl', dialect: verlMetrics, lines: nested };
  const flat = lines.flatMap(toLines);
  const hasAny = (names: readonly string[]): boolean =>
    flat.some(({ numbers }) => names.some((name) => numbers.has(name)));
  if (hasAny(ownNames)) return { source: 'metrics.jsonl', dialect: ownLines, lines: flat };
  if (hasAny(trlNames)) return { source: 'trl', dialect: trlMetrics, lines: flat };
  const names = [...new Set(flat.flatMap(({ numbers }) => [...numbers.keys()]))]
    .filter((name) => name !== 'step')
    .slice(0, 8);
  throw new AgentJetError(
    'unknown_records',
    `${file} is neither a run folder nor metrics that are known: metrics.jsonl of a run, TRL's trainer_state.json or its logs as JSON lines, or the log of verl's file logger. ${names.length === 0 ? 'It has no lines of JSON with a step.' : `Its lines have ${names.join(', ')}.`}`,
  );
}
