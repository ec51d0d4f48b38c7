import type { Episode } from '@agentjet/rollout';
import type { JobListener } from '@agentjet/records';

/** Episodes that have finished so far, by how they ended. */
export type EpisodeTally = Readonly<Record<Episode['status'], number>>;

/** The listener, and a tally of the episodes that it gets. */
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
