import { pairedDifference } from '@agentjet/core/success';
import type { RecordedEpisode, RunFolder } from '@agentjet/run-folder';
import type { EvaluationChange, TaskResult } from './events.js';
import { isAtValTemperature, isScored } from './summarize-evaluation.js';

type Config = Parameters<typeof isAtValTemperature>[1];
type Folder = Pick<RunFolder, 'readEvaluations' | 'episodes'>;
type Scores = { readonly step: number; readonly byTask: ReadonlyMap<string, TaskResult> };

/**
 * The first evaluation of a run, with which each later one is compared task by task. A resumed run reads it from the
 * run folder.
 */
export class FirstEvaluation {
  readonly #folder: Folder;
  readonly #config: Config;
  #first: Scores | undefined;

  constructor(folder: Folder, config: Config) {
    this.#folder = folder;
    this.#config = config;
  }

  /** The change from the first evaluation to this one. Undefined if this is the first one, or if no task is in both. */
  async changeTo(step: number, scores: readonly TaskResult[]): Promise<EvaluationChange | undefined> {
    this.#first ??= await this.#read(step);
    if (this.#first === undefined) {
      this.#first = { step, byTask: byTask(scores) };
      return undefined;
    }
    const { step: sinceStep, byTask: earlier } = this.#first;
    const shared = [...byTask(scores).values()].flatMap((after) => {
      const before = earlier.get(after.taskId);
      return before !== undefined && before.trials > 0 && after.trials > 0 ? [{ before, after }] : [];
    });
    if (sinceStep >= step || shared.length === 0) return undefined;
    const difference = pairedDifference(
      shared.map(({ before }) => before),
      shared.map(({ after }) => after),
    );
    return { ...difference, sinceStep, tasks: shared.length };
  }

  async #read(before: number): Promise<Scores | undefined> {
    const [first] = (await this.#folder.readEvaluations()).toSorted((a, b) => a.step - b.step);
    if (first === undefined || first.step >= before) return undefined;
    const lines = await this.#folder.episodes.readStep(first.step);
    return { step: first.step, byTask: byTask(lines.flatMap((line) => toResult(line, this.#config))) };
  }
}

function toResult(line: RecordedEpisode, config: Config): readonly TaskResult[] {
  const { phase, task_id: taskId, repeat_index: repeatIndex } = line;
  if (phase !== 'evaluation' || typeof taskId !== 'string' || typeof repeatIndex !== 'number') return [];
  if (!isAtValTemperature({ repeatIndex }, config)) return [];
  const trials = isScored(line as unknown as Parameters<typeof isScored>[0]) ? 1 : 0;
  return [{ taskId, trials, successes: trials === 1 && line['is_success'] === true ? 1 : 0 }];
}

/** Adds up the episodes of each task. */
function byTask(results: readonly TaskResult[]): ReadonlyMap<string, TaskResult> {
  const sums = new Map<string, TaskResult>();
  for (const result of results) {
    const { successes = 0, trials = 0 } = sums.get(result.taskId) ?? {};
    sums.set(result.taskId, {
      ...result,
      successes: successes + result.successes,
      trials: trials + result.trials,
    });
  }
  return sums;
}
