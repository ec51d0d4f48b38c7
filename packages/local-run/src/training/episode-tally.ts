import type { Episode } from '@agentjet/rollout';
import type { JobListener } from '@agentjet/records';

/** The number of finished episodes, by how they ended. */
export type EpisodeTally = Readonly<Record<Episode['status'], number>>;

/** Returns the listener, and a count of the episodes that it gets. */
export function countEpisodes(emit: JobListener): { readonly emit: JobListener; readonly tally: EpisodeTally } {
  const tally = { completed: 0, failed: 0 };
  return {
    tally,
    emit: (event) => {
      if (event.type === 'episode_finished') tally[event.episode.status]++;
      emit(event);
    },
  };
}
