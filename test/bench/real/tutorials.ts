import path from 'node:path';
import type { BenchOptions, Measured } from '../bench.js';
import { root } from '../../releases/run-node.js';
import { readLines, round, runTraining, type Training } from './run-training.js';

/** The tutorials with a real model, with one seed each. */

type Options = Pick<BenchOptions, 'report'>;

const train = (folder: string, options: Options): Promise<Training> =>
  runTraining({ conf: path.join(root, 'tutorial', folder), cwd: root, ...options });

export async function measureCalculator(options: Options): Promise<Measured> {
  return describe(await train('real-model/real_model.yaml', options));
}

export async function measureJson(options: Options): Promise<Measured> {
  return describe(await train('json-extraction/json_extraction.yaml', options));
}

export async function measureLanggraph(options: Options): Promise<Measured> {
  return describe(await train('real-tools/real_tools.yaml', options));
}

function describe(training: Training): Measured {
  const { before, after, minutes, minutesInAll, peakGib } = training;
  const figures = { minutes, minutes_in_all: minutesInAll, peak_gib: peakGib };
  return { summary: { before: before.success, after: after.success, ...figures }, details: detailsOf(training) };
}

export function detailsOf({ before, load, rewardByStep, modelSource }: Training): Measured['details'] {
  return { held_out_tasks: before.episodes, load, reward_by_step: rewardByStep, model_source: modelSource };
}

/**
 * Measures the mean return of the trained player with its 95% interval. The return of a player is the reward of its
 * episode.
 */
export async function measureTwoPlayers({ report }: Options): Promise<Measured> {
  const conf = path.join(root, 'tutorial/two-players/two_players.yaml');
  const training = await runTraining({ conf, cwd: root, report }, (runDir) => ({
    before: meanReturn(runDir, 0),
    after: meanReturn(runDir),
  }));
  const { before, after } = training.found ?? {};
  if (before === undefined || after === undefined) throw new Error('The games of the evaluations were not kept.');
  return {
    summary: {
      before: before.mean,
      after: after.mean,
      interval_before: before.interval,
      interval_after: after.interval,
      opponent: 'cautious-player, by fixed odds',
      games: after.games,
    },
    details: { minutes: training.minutes, ...detailsOf(training) },
  };
}

type MeanReturn = { readonly mean: number; readonly interval: readonly number[]; readonly games: number };

/** `step` defaults to the last evaluation. */
function meanReturn(runDir: string, step?: number): MeanReturn {
  const last = Number(readLines(path.join(runDir, 'evaluations.jsonl')).at(-1)?.['step']);
  const name = `step-${String(step ?? last).padStart(6, '0')}.jsonl`;
  const games = readLines(path.join(runDir, 'episodes', name)).filter(({ phase }) => phase !== 'train');
  return meanWithInterval(games.map(({ reward }) => Number(reward)));
}

/** Returns the mean with its 95% interval, mean ± 1.96 standard errors. */
export function meanWithInterval(values: readonly number[]): MeanReturn {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
  const half = 1.96 * Math.sqrt(variance / values.length);
  return { mean: round(mean), interval: [round(mean - half), round(mean + half)], games: values.length };
}
