import type { Task } from '@agentjet/core';
import { defaultPolicy, type EndRecord, type LedgerRules } from '@agentjet/ledger';
import type { Episode } from '@agentjet/rollout';
import { contentOf, readEnd } from '@agentjet/records';

/**
 * The episode of an end record of an ordinary run, with the id that its step gave it. Without `task`, the episode has
 * the task of its line.
 */
export function openEnd(end: EndRecord, task?: Task): Episode {
  const { name = end.episodeId } = contentOf(end, defaultPolicy);
  const { reward, isSuccess, rewards } = end;
  const episode = readEnd({ episodeId: name, end, reward, isSuccess, rewards }, defaultPolicy);
  return task === undefined ? episode : { ...episode, task };
}

/**
 * The cause that an end record states if the failure is not the agent's, so that no policy gives the episode a reward.
 */
export const unrewarded: LedgerRules['failedEpisodePolicy'] = 'partial_group';
