import { formatRate, successByKind, type Rate } from '@agentjet/core/success';
import type { Cause } from '../cause.js';
import { groupEpisodes, episodeIds, trainingEpisodes } from '../episode-sets.js';
import type { ExaminedRun } from '../examined-run.js';

/** A kind with this success is learned, and one below `mostBehind` is not. */
const leastLearned = 0.6;
const mostBehind = 0.3;

type Kind = Rate & { readonly tasks: number };

export const oneKindLearned: Cause = {
  name: 'one_kind',
  needs: [],
  threshold:
    'one kind of task has a success of 0.6 or more, and another one of 0.3 or less and under half of that; 95% intervals apart',
  explains: ['stopped_learning', 'no_spread', 'no_gain'],
  look(run) {
    const kinds = kindsOf(run);
    const [best] = kinds.filter(([, { rate }]) => rate >= leastLearned).sort(([, a], [, b]) => b.low - a.low);
    if (best === undefined) return undefined;
    const [bestName, bestKind] = best;
    const behind = kinds
      .filter(([, { rate, high }]) => rate <= mostBehind && rate < bestKind.rate / 2 && high < bestKind.low)
      .sort(([, a], [, b]) => b.tasks - a.tasks);
    const names = behind.slice(0, 3).map(([name]) => name);
    if (behind.length === 0) return undefined;
    const tasks = kinds.reduce((sum, [, kind]) => sum + kind.tasks, 0);
    const field = run.settings.reportBy ?? 'kind';
    const named = behind.slice(0, 3).map(([name, kind]) => `${name} ${formatRate(kind.rate, kind)}`);
    const failing = trainingEpisodes(run, 0.5).filter(({ kind, success }) => kind === names[0] && !success);
    return {
      ...(!behind.every(([name]) => hasGained(run, name)) && { asks: 'change' as const }),
      summary: `The model learned one kind of task and not another: ${field} ${bestName} ${formatRate(bestKind.rate, bestKind)}, but ${named.join(', ')}.`,
      cure: `Add training tasks of ${names.join(', ')}, easier ones first, or train them separately; look at what their failures share.`,
      episodes: episodeIds(failing),
      taken: behind.reduce((sum, [, kind]) => sum + kind.tasks, 0) / Math.max(1, tasks),
    };
  },
};

/** Whether held-out success of a kind rose by more than chance. Then it is behind, and is being learned. */
function hasGained({ evaluations }: ExaminedRun, kind: string): boolean {
  const [first, last] = [evaluations[0]?.kinds?.get(kind), evaluations.at(-1)?.kinds?.get(kind)];
  return first !== undefined && last !== undefined && last.low > first.high;
}

/** The kinds of the last evaluation, or those of the last half of the training. */
function kindsOf(run: ExaminedRun): readonly (readonly [string, Kind])[] {
  const evaluated = run.evaluations.at(-1)?.kinds;
  if (evaluated !== undefined) return [...evaluated];
  const scores = [...groupEpisodes(trainingEpisodes(run, 0.5), ({ task }) => task).values()].map((episodes) => {
    const kind = episodes[0]?.kind;
    return {
      successes: episodes.filter(({ success }) => success).length,
      trials: episodes.length,
      ...(kind !== undefined && { kind }),
    };
  });
  return successByKind(scores).map(({ kind, successRate, interval, tasks }) => [
    kind,
    { rate: successRate, ...interval, tasks },
  ]);
}
