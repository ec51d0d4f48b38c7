import { groupsOf, mostFrequent, trainingEpisodes } from './episode-sets.js';
import type { EpisodeOf, ExaminedRun } from './examined-run.js';

const leastGroups = 12;
/** With a smaller share, some groups differ because of what the model did. */
const leastEqual = 0.8;
/** A reward that most groups share is that of a failure. */
const mostShared = 0.7;

export type RewardsOfTasks = { readonly groups: number; readonly equal: readonly (readonly EpisodeOf[])[] };

/**
 * Groups whose episodes all have the same reward, although other groups have other rewards without any success. Then the
 * reward depends on the task and not on what the model does. Undefined if this is not so.
 */
export function rewardsOfTasks(run: ExaminedRun): RewardsOfTasks | undefined {
  const groups = groupsOf(trainingEpisodes(run).filter(({ status }) => status === 'completed'));
  const equal = groups.filter((group) => group.length > 1 && new Set(group.map(({ reward }) => reward)).size === 1);
  if (groups.length < leastGroups || equal.length < leastEqual * groups.length) return undefined;
  const failed = equal.filter((group) => group.every(({ success }) => !success));
  const most = mostFrequent(failed.map(([first]) => String(first?.reward)));
  const isShared = most === undefined || failed.length < leastGroups || most.count >= mostShared * failed.length;
  return isShared ? undefined : { groups: groups.length, equal };
}
