import { formatRate } from '@agentjet/core/success';
import type { Cause } from '../cause.js';
import { idsOf, trainingEpisodes } from '../episode-sets.js';

/** A kind with this success is learned. The rule that watches a running job has the same. */
const learned = 0.8;

export const oneKind: Cause = {
  name: 'one_kind',
  needs: ['evaluations'],
  threshold:
    'one kind of task has a success of 0.8 or more, and another one is below half of that; 95% intervals apart',
  explains: ['stopped_learning', 'no_spread', 'no_gain'],
  look({ evaluations, settings, ...run }) {
    const kinds = [...(evaluations.at(-1)?.kinds ?? [])];
    const [best] = kinds.filter(([, { rate }]) => rate >= learned).sort(([, left], [, right]) => right.low - left.low);
    if (best === undefined) return undefined;
    const [bestName, bestKind] = best;
    const behind = kinds.filter(([, { rate, high }]) => rate < bestKind.rate / 2 && high < bestKind.low);
    const [first] = behind.sort(([, left], [, right]) => right.tasks - left.tasks);
    if (first === undefined) return undefined;
    const tasks = kinds.reduce((sum, [, kind]) => sum + kind.tasks, 0);
    const field = settings.reportBy ?? 'kind';
    const named = behind.slice(0, 3).map(([name, kind]) => `${name} ${formatRate(kind.rate, kind)}`);
    const failing = trainingEpisodes({ ...run, evaluations, settings }, 0.5).filter(
      ({ kind, success }) => kind === first[0] && !success,
    );
    return {
      summary: `The model learned one kind of task and not another: ${field} ${bestName} ${formatRate(bestKind.rate, bestKind)}, but ${named.join(', ')}.`,
      cure: `Add training tasks of ${behind
        .map(([name]) => name)
        .slice(0, 3)
        .join(', ')}, easier ones first, or train them separately; look at what their failures share.`,
      episodes: idsOf(failing),
      taken: behind.reduce((sum, [, kind]) => sum + kind.tasks, 0) / Math.max(1, tasks),
    };
  },
};
