import { EngineError, mean } from '@agentjet/core';
import {
  groupPart,
  isMember,
  type LedgerEpisode,
  type LedgerGroup,
  type LedgerState,
  type NewEnd,
} from '@agentjet/ledger';
import { shortenMetadata, shortenQuery } from '@agentjet/records';
import { WireError, type ClaimedEpisode, type EndRequest, type Receipt, type WireTask } from '@agentjet/swarm-wire';
import type { ModelPort, SealedEnd } from '../model/model-port.js';
import type { Writable } from '../writable.js';

/** The requests and answers of the routes of episodes. */

/** The fields of a request's key that episodes need. */
export type ClaimKey = {
  readonly name: string;
  readonly isCommander: boolean;
  readonly maxEpisodes?: number | undefined;
  /** Absent if the key may use all shares. */
  readonly shares?: readonly string[] | undefined;
  /** Throws WireError if the key was deleted or has expired meanwhile. */
  readonly requireStillValid?: (() => void) | undefined;
};

/** Throws WireError `wrong_role` for a share that the key may not use. */
export function requireKeyShares(can: readonly string[], key: ClaimKey | undefined): void {
  const foreign = key?.shares === undefined ? undefined : can.find((share) => key.shares?.includes(share) !== true);
  if (foreign === undefined) return;
  throw new WireError(
    'wrong_role',
    `The key "${key?.name}" is for the shares ${key?.shares?.join(', ')}, not for "${foreign}".`,
  );
}

export type EpisodeParts = {
  readonly access: (episodeId: string) => EpisodeAccess;
  readonly model: ModelPort | undefined;
};

export const isReplayMismatch = (error: unknown): boolean =>
  error instanceof EngineError && error.code === 'replay_mismatch';

export type EpisodesQuery = {
  readonly after?: string | undefined;
  readonly limit: number;
  readonly state?: string | undefined;
};

/** The address of an episode's model, and the key for the calls. */
export type EpisodeAccess = Pick<ClaimedEpisode, 'base_url' | 'model' | 'key' | 'trainable_targets' | 'policies'>;

export function toOptional({
  reason,
  step,
}: {
  readonly reason: string | undefined;
  readonly step: number | undefined;
}) {
  return { ...(reason !== undefined && { reason }), ...(step !== undefined && { step }) };
}

const meanOf = (values: readonly number[]): number | null => (values.length === 0 ? null : mean(values));

export const claimIdOf = (claimId: string, index: number): string => (index === 0 ? claimId : `${claimId}#${index}`);

export function randomName(random: () => number): string {
  const part = (): string =>
    Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0');
  return part() + part();
}

/**
 * Returns the state of an episode in each policy. Returns undefined if there is only one policy, or if no step has
 * taken the episode yet.
 */
export function partsOf(state: LedgerState, episodeId: string): Receipt['parts'] {
  const old = state.finished.episode(episodeId)?.parts;
  if (old !== undefined)
    return Object.fromEntries(Object.entries(old).map(([name, { fate, ...more }]) => [name, { state: fate, ...more }]));
  const episode = state.episodes.get(episodeId);
  const group = episode === undefined ? undefined : state.groups.get(episode.groupId);
  if (episode?.parts === undefined || group === undefined) return undefined;
  const rows = [...episode.parts].map(([name, { state: found, reason }]) => {
    return [name, { state: found, ...toOptional({ reason, step: groupPart(group, name).step }) }] as const;
  });
  return Object.fromEntries(rows);
}

/** The answer for an episode whose end was accepted. */
export function receiptOf(ledger: LedgerState, episodeId: string, status: Receipt['status']): Receipt {
  const { state, reason, step } = fateOf(ledger, episodeId);
  const parts = partsOf(ledger, episodeId);
  const receipt: Receipt = { episode_id: episodeId, status, state: state === 'running' ? 'ended' : state };
  if (reason === undefined && step === undefined && parts === undefined) return receipt;
  return { ...receipt, ...toOptional({ reason, step }), ...(parts !== undefined && { parts }) };
}

function fateOf(ledger: LedgerState, episodeId: string) {
  const old = ledger.finished.episode(episodeId);
  if (old !== undefined) return { state: old.fate, reason: old.reason, step: old.step };
  const episode = findLive(ledger, episodeId);
  const { state, reason } = episode;
  return { state, reason, step: stepOf(ledger, episode) };
}

/** The step whose manifest names the episode. */
export function stepOf({ groups }: LedgerState, episode: Readonly<LedgerEpisode>): number | undefined {
  const group = groups.get(episode.groupId);
  return group !== undefined && isMember(group, episode) ? group.step : undefined;
}

function findLive({ episodes }: LedgerState, episodeId: string): LedgerEpisode {
  const episode = episodes.get(episodeId);
  if (episode === undefined) throw new TypeError(`There is no episode "${episodeId}".`);
  return episode;
}

export type CallOf = { readonly requestId: string; readonly policy?: string | undefined };

export function endedDifferently(episodeId: string, stored: string): WireError {
  return new WireError('ended_differently', `Episode "${episodeId}" ended already, as ${stored}; this end differs.`, {
    details: { stored },
  });
}

/** Returns the reason why an episode is over. A claim that was lost in a power cut is not in the ledger. */
export function reasonOf({ episodes, finished }: LedgerState, episodeId: string): string {
  const found = episodes.get(episodeId) ?? finished.episode(episodeId);
  return found === undefined ? 'machine_restarted' : (found.reason ?? 'ended');
}

export function goneError(state: LedgerState, episodeId: string): WireError {
  const reason = reasonOf(state, episodeId);
  return new WireError('gone', `Episode "${episodeId}" is over: ${reason}. Claim another one.`, {
    details: { reason },
  });
}

function errorOf({ status, error, error_code: code }: EndRequest): { readonly code: string; readonly message: string } {
  const usual = status === 'failed' ? 'workflow_failed' : 'outage';
  return { code: code ?? usual, message: error ?? 'The client gave no reason.' };
}

type EndParts = {
  readonly bodyHash: string;
  readonly sealed: SealedEnd | undefined;
  readonly group: Pick<LedgerGroup, 'taskId' | 'revision'>;
  readonly episode: Pick<LedgerEpisode, 'place' | 'attempt' | 'seed'>;
  /** The episode's task. Undefined if its content stays at the client. */
  readonly task: Pick<WireTask, 'main_query' | 'metadata'> | undefined;
  /** The seconds since it was claimed. */
  readonly seconds: number;
  /** The number of tokens of an attempt that was lost to an outage, and so is not sealed. */
  readonly tokens?: number | undefined;
};

/** The shortened metadata of tasks. All episodes of a group have the same task. */
const shortMetadata = new WeakMap<object, ReturnType<typeof shortenMetadata>>();

function shortMetadataOf(task: Pick<WireTask, 'metadata'>): ReturnType<typeof shortenMetadata> {
  if (!shortMetadata.has(task)) shortMetadata.set(task, shortenMetadata(task.metadata));
  return shortMetadata.get(task);
}

/**
 * Returns the end in the form that the ledger records. The client's fields are added to the sealed ones key by key,
 * because spreading both takes longer than everything else here.
 */
export function toNewEnd(
  request: EndRequest,
  { bodyHash, sealed, group, episode, task, seconds, tokens = 0 }: EndParts,
): NewEnd {
  const { rewards } = request;
  const content = sealed?.content ?? {};
  content['task_id'] = group.taskId;
  content['repeat_index'] = episode.place;
  content['seed'] = episode.seed;
  if (task !== undefined && task.main_query !== '') content['main_query'] = shortenQuery(task.main_query);
  const taskMetadata = task && shortMetadataOf(task);
  if (taskMetadata !== undefined) content['task_metadata'] = taskMetadata;
  if (episode.attempt > 0) content['attempt'] = episode.attempt + 1;
  content['metadata'] = request.metadata;
  content['log_metrics'] = request.log_metrics;
  content['parts'] = request.parts;
  content['reason'] = request.reason;
  if (request.status !== 'completed') content['error'] = errorOf(request);
  content['messages'] = request.messages;
  if (request.seconds !== undefined) content['seconds'] = request.seconds;
  if (request.seconds_judging !== undefined) content['seconds_judging'] = request.seconds_judging;
  if (request.judge_outage !== undefined) content['judge_outage'] = request.judge_outage;
  if (request.spans !== undefined) content['spans'] = request.spans;
  if (request.swallowed_errors !== undefined) content['swallowed_errors'] = request.swallowed_errors;
  const end: Writable<NewEnd> = {
    status: request.status,
    reward: request.reward ?? (rewards === undefined ? null : meanOf(Object.values(rewards))),
    isSuccess: request.is_success,
    bodyHash,
    revision: request.revision ?? group.revision,
    tokens: sealed?.tokens ?? tokens,
    seconds,
    content,
  };
  if (rewards !== undefined) end.rewards = rewards;
  if (sealed === undefined) return end;
  if (sealed.turnRewards !== undefined) end.turnRewards = sealed.turnRewards;
  if (sealed.bytes !== undefined) end.bytes = sealed.bytes;
  return end;
}

/**
 * Whether this key may act for the episode. The key that claimed the episode and a commander's key may. In a swarm
 * without keys, every client may.
 */
export const speaksFor = ({ keyName }: Readonly<LedgerEpisode>, key: ClaimKey | undefined): boolean =>
  key === undefined || key.isCommander || keyName === undefined || keyName === key.name;

/** Throws WireError `foreign_episode` if another client claimed the episode, or if it was claimed with another key. */
export function requireClient(episode: Readonly<LedgerEpisode>, found: string, key?: ClaimKey): void {
  const { episodeId, client } = episode;
  if (!speaksFor(episode, key)) {
    throw new WireError('foreign_episode', `Episode "${episodeId}" was claimed with another key than "${key?.name}".`);
  }
  if (client === found) return;
  throw new WireError('foreign_episode', `Episode "${episodeId}" was claimed by "${client}", not by "${found}".`);
}
