import type { Task } from '@agentjet/core';
import { defaultPolicy, type EndRecord, type LedgerRules } from '@agentjet/ledger';
import type { Episode } from '@agentjet/rollout';
import { contentOf, readEnd } from '@agentjet/records';

/**
 * Returns the episode of an end record of an ordinary run, with its id in the step. Without `task`, the episode has
 * only the recorded fields of its task.
 */
export function openEnd(end: EndRecord, task?: Task): Episode {
  const { name = end.episodeId } = contentOf(end, defaultPolicy);
  const { reward, isSuccess, rewards } = end;
  const episode = readEnd({ episodeId: name, end, reward, isSuccess, rewards }, defaultPolicy);
  return task === undefined ? episode : { ...episode, task };
}

/**
 * If the agent did not cause the failure of an episode, its end record has this policy for failed episodes. With it, the
 * episode gets no reward.
 */
export const unrewarded: LedgerRules['failedEpisodePolicy'] = 'partial_group';
