import type { EvaluationPoint, RunOverview, TaskChange } from '../wire.js';
import { showCount, showRate, showSigned } from './format.js';

/** The answer to "did it learn?", in a word and a sentence. */
export type RunVerdict = { readonly tone: 'good' | 'bad' | 'plain'; readonly word: string; readonly sentence: string };

export function sumUp({ run, evaluations, loss }: Pick<RunOverview, 'run' | 'evaluations' | 'loss'>): RunVerdict {
  const [before, after] = [evaluations[0], evaluations.at(-1)];
  if (before === undefined || after === undefined) return withoutEvaluation(run);
  if (before.step === after.step)
    return {
      tone: 'plain',
      word: 'Measured once',
      sentence: `Success is ${sayRate(before)} at step ${before.step}. A later evaluation shows if it learns.`,
    };
  if (loss !== null && loss.best.step !== before.step) return sayLoss(before, loss);
  const change = run.change ?? { difference: after.rate - before.rate, low: null, high: null };
  const words = `Success on tasks that are not trained went from ${sayRate(before)} to ${sayRate(after)}`;
  if (change.low === null || change.high === null) {
    const isApart = after.low > before.high || after.high < before.low;
    return judge(change.difference, isApart, `${words}.`);
  }
  const isApart = change.low > 0 || change.high < 0;
  const interval = `${showSigned(change.low)} to ${showSigned(change.high)}`;
  return judge(change.difference, isApart, `${words}: ${showSigned(change.difference)}, 95% ${interval}.`);
}

/** The verdict on a run that was better in between. */
function sayLoss(before: EvaluationPoint, { best, last }: NonNullable<RunOverview['loss']>): RunVerdict {
  return {
    tone: 'bad',
    word: 'It learned, then lost some of it',
    sentence: `Success on tasks that are not trained went from ${sayRate(before)} to ${sayRate(best)} at step ${best.step}, and then to ${sayRate(last)}. The checkpoint near step ${best.step} is better than the last one.`,
  };
}

function judge(difference: number, isApart: boolean, sentence: string): RunVerdict {
  if (!isApart) return { tone: 'plain', word: 'Within noise', sentence: `${sentence} This may be chance.` };
  return difference > 0
    ? { tone: 'good', word: 'It learned', sentence }
    : { tone: 'bad', word: 'It got worse', sentence };
}

function withoutEvaluation({ step, reward, rewardSteps }: RunOverview['run']): RunVerdict {
  if (step === 0) return { tone: 'plain', word: 'Not begun', sentence: 'No step is finished yet.' };
  const words =
    reward === null ? '' : ` The mean reward of the last ${showCount(rewardSteps, 'step')} is ${showRate(reward)}.`;
  return {
    tone: 'plain',
    word: 'Not measured',
    sentence: `The run has no evaluation, so it is unknown if it learned.${words}`,
  };
}

const sayRate = ({ rate, low, high }: EvaluationPoint): string =>
  `${showRate(rate)} (95% ${showRate(low)}–${showRate(high)})`;

/** How a task changed between the first and the last evaluation. */
export type TaskFate = 'learned' | 'lost' | 'never' | 'always' | 'partly' | 'once';

export function fateOf({ before, after }: TaskChange): TaskFate {
  if (before === null || after === null || before.trials === 0 || after.trials === 0) return 'once';
  const [earlier, later] = [before.successes / before.trials, after.successes / after.trials];
  if (later > earlier) return 'learned';
  if (later < earlier) return 'lost';
  return later === 0 ? 'never' : later === 1 ? 'always' : 'partly';
}

export const fateWords: Readonly<Record<TaskFate, string>> = {
  learned: 'newly solved',
  lost: 'newly failed',
  never: 'failed both times',
  always: 'solved both times',
  partly: 'partly solved',
  once: 'measured once',
};
