import type { TrainingGroup } from '@agentjet/trainer';

/** If more than this share of groups is given up, training is biased towards short episodes. */
const tolerable = 0.02;

/** Reports once if more groups than can be tolerated were given up because of `rollout.straggler_patience`. */
export function noticeStragglers(onNotice: (message: string) => void): (groups: readonly TrainingGroup[]) => void {
  let all = 0;
  let given = 0;
  let isTold = false;
  return (groups) => {
    all += groups.length;
    given += groups.filter(({ report }) => report?.staleEpisodes !== undefined).length;
    if (isTold || given <= tolerable * all) return;
    isTold = true;
    onNotice(
      `${given} of ${all} groups were given up because they took too long. Training now sees fewer long episodes than there are: ` +
        'see trained_over_begun_tokens in metrics.jsonl. Raise rollout.straggler_patience, or set it to null.',
    );
  };
}
