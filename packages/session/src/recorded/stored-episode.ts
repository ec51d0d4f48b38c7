import type { Task } from '@agentjet/core';
import type { LedgerRules } from '@agentjet/ledger';
import type { Episode } from '@agentjet/rollout';
import { shortenQuery } from '../records/episode-line.js';
import { openRow, sealRow, type SealedRow } from '../served/sealed-rows.js';

/** An episode as its end record keeps it: plain JSON, tokens and logprobs to the last bit. */
export type StoredEpisode = {
  readonly episode: StoredPart<Episode>;
  /** As the line of the episode has it. */
  readonly mainQuery: string;
  readonly rows: readonly SealedRow[];
  /** Of the weights that answered it. */
  readonly incarnation: number;
};

type StoredPart<E> = E extends Episode ? Omit<E, 'task' | 'samples'> : never;

export function toStored({ task, samples, ...episode }: Episode, incarnation: number): StoredEpisode {
  return { episode, mainQuery: shortenQuery(task.mainQuery), rows: samples.map(sealRow), incarnation };
}

export function fromStored({ episode, rows }: StoredEpisode, task: Task): Episode {
  return { ...episode, task, samples: rows.map((row) => openRow(episode.episodeId, row)) };
}

/** What the end of an episode says in the ledger if its failure is not the agent's, so that no policy gives it a reward. */
export const unrewarded: LedgerRules['failedEpisodePolicy'] = 'partial_group';
