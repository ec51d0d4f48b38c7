import type { ServerAnswer } from '@agentjet/swarm-wire';
import { describePlaces, describeWait } from './describe-waits.js';
import type { SwarmContext } from './swarm-context.js';

/** Describes the progress of one policy: what its next step waits for, its places, and its newest step. */
export function describeProgress(context: SwarmContext): Pick<ServerAnswer, 'waits_for' | 'places' | 'newest_step'> {
  return {
    waits_for: describeWait(context),
    places: describePlaces(context),
    ...describeNewest(context),
  };
}

function describeNewest({ host, progress }: SwarmContext): Pick<ServerAnswer, 'newest_step'> {
  const { newest } = progress;
  if (newest === undefined) return {};
  const { step, episodes, reward, success, seconds, madeMs } = newest;
  return {
    newest_step: {
      step,
      episodes,
      reward,
      ...(success !== undefined && { success }),
      ...(seconds !== undefined && { seconds }),
      ...(madeMs !== undefined && { age_seconds: Math.floor((host.now() - madeMs) / 1000) }),
    },
  };
}
