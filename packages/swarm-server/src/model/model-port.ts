import type { AgentIdentity } from '@agentjet/context-tracker';
import type { EndpointSession } from '@agentjet/endpoint';
import type { EndRecord } from '@agentjet/ledger';
import type { EndRequest } from '@agentjet/swarm-wire';
import type { Swarm } from '../swarm/swarm.js';

/**
 * The interface to the object that has the episodes' trackers. A swarm without such an object records ends as they
 * arrive.
 */
export type ModelPort = {
  /**
   * Seals the messages and answers of all agents of the episode. Throws EngineError `replay_mismatch` if the recorded
   * calls do not give the same prompts again, and WireError `invalid_request` for a reward of a turn that does not
   * exist.
   */
  readonly seal: (episodeId: string, request: EndRequest) => SealedEnd;
  /** The number of tokens generated so far; 0 if the tracker of the episode is not in memory. */
  readonly tokensOf: (episodeId: string) => number;
  /** Called when the episode is over. Calls that still run are aborted. */
  readonly close: (episodeId: string) => void;
};

/** The object that has the trackers and answers the model calls of their episodes. */
export type EpisodeHolder = {
  /** Sets the swarm that the episodes belong to. */
  attach(swarm: Swarm): void;
  /** The model that one agent of an episode calls. */
  sessionOf(episodeId: string, agent: AgentIdentity): EndpointSession;
  closeAll(): void;
  /** The number of episodes whose trackers are in memory. */
  readonly numOpen: number;
};

export type SealedEnd = {
  /** The `content` of the end record. The caller of `seal` adds the client's fields. */
  readonly content: Record<string, unknown>;
  /** The number of generated tokens. */
  readonly tokens: number;
} & Pick<EndRecord, 'turnRewards' | 'bytes'>;
