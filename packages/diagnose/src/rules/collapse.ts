import type { CommonConfig } from '@agentjet/core';
import type { MetricsRecord } from '@agentjet/run-folder';
import { hasCollapsed } from '../limits.js';
import type { Rule, RunRecords } from '../rule.js';
import { stepsKept } from '../rule.js';
import { meanSuccess, nameSteps } from '../sums.js';
import { cureOfCollapse } from '../cures.js';

/** Entropy is lost below 5% of its value at the start. */
const entropyShare = 0.05;

/**
 * Finds a model that has lost both its variety and its success. Low entropy alone is normal for a model that learns an
 * easy task.
 */
export const collapse: Rule = {
  name: 'collapse',
  find(records) {
    const message = collapseOf(records) ?? collapseInTraining(records);
    return message === undefined ? undefined : { message };
  },
};

/** The collapse that two evaluations in a row show. */
export function collapseOf(records: RunRecords): string | undefined {
  const entropy = entropyLost(records);
  const measured = records.evaluations.filter((line) => line['success_rate'] !== undefined);
  const best = highest(measured);
  const last = measured.slice(-2);
  if (entropy === undefined || best === undefined || last.length < 2) return undefined;
  if (!last.every((line) => line.step > best.step && hasCollapsed(successOf(line), successOf(best)))) return undefined;
  const rates = last.map((line) => successOf(line).toFixed(3)).join(' and ');
  return `The model has collapsed: success was ${rates} in the last two evaluations, after ${successOf(best).toFixed(3)} at step ${best.step}, and ${entropy}. ${remedy(records.config, best.step)}`;
}

/** The collapse that the training's own episodes show, for runs with few evaluations. */
function collapseInTraining(records: RunRecords): string | undefined {
  const { config, steps, bestSuccess } = records;
  const entropy = entropyLost(records);
  if (entropy === undefined || steps.length < stepsKept) return undefined;
  return collapseInSteps(config, { steps, bestSuccess, sign: entropy });
}

type Config = { readonly trainerCommon: Pick<CommonConfig['trainerCommon'], 'optim' | 'useKlLoss'> };

type LateSteps = {
  /** Steps in a row, oldest first. */
  readonly steps: readonly MetricsRecord[];
  /** The best success in training before. Default: 0. */
  readonly bestSuccess: number | undefined;
  /** What shows that the model has also lost its variety, as a clause. */
  readonly sign: string;
};

/** Describes the collapse that these steps show. Undefined if the model has kept enough of its success. */
export function collapseInSteps(config: Config, { steps, bestSuccess = 0, sign }: LateSteps): string | undefined {
  const success = meanSuccess(steps);
  if (!hasCollapsed(success, bestSuccess)) return undefined;
  return `The model has collapsed: success in training is ${success.toFixed(3)} over ${nameSteps(steps)}, after ${bestSuccess.toFixed(3)} before, and ${sign}. ${remedy(config)}`;
}

function entropyLost({ trained }: RunRecords): string | undefined {
  const [first, last] = [trained?.first['entropy'], trained?.last['entropy']];
  if (first === undefined || last === undefined || first <= 0 || last >= entropyShare * first) return undefined;
  return `entropy fell from ${first.toFixed(3)} to ${last.toFixed(4)}`;
}

const successOf = (line: MetricsRecord): number => line['success_rate'] ?? 0;

function highest(lines: readonly MetricsRecord[]): MetricsRecord | undefined {
  return lines.reduce<MetricsRecord | undefined>(
    (best, line) => (best === undefined || successOf(line) > successOf(best) ? line : best),
    undefined,
  );
}

const remedy = ({ trainerCommon }: Config, bestStep?: number): string =>
  cureOfCollapse({ rate: trainerCommon.optim.lr, usesKl: trainerCommon.useKlLoss }, bestStep);
