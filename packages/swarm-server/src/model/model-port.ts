import type { AgentIdentity } from '@agentjet/context-tracker';
import type { EndpointSession } from '@agentjet/endpoint';
import type { EndRecord } from '@agentjet/ledger';
import type { EndRequest } from '@agentjet/swarm-wire';
import type { Swarm } from '../swarm/swarm.js';

/** What the swarm asks of the holder of the episodes' trackers. A swarm without one records ends as they come. */
export type ModelPort = {
  /**
   * Seals the messages and answers of all agents of the episode. Throws EngineError `replay_mismatch` if its recorded
   * calls do not give the prompts that they had, WireError `invalid_request` for a reward of a turn that was never
   * made.
   */
  readonly seal: (episodeId: string, request: EndRequest) => SealedEnd;
  /** Generated so far; 0 if the tracker of the episode is not in memory. */
  readonly tokensOf: (episodeId: string) => number;
  /** The episode is over: calls under way are cut. */
  readonly close: (episodeId: string) => void;
};

/** Whose model calls the server answers. */
export type EpisodeHolder = {
  /** Names the swarm that the episodes belong to. */
  attach(swarm: Swarm): void;
  /** What one agent of an episode speaks to. */
  sessionOf(episodeId: string, agent: AgentIdentity): EndpointSession;
  closeAll(): void;
  /** Episodes whose trackers are in memory. */
  readonly numOpen: number;
};

export type SealedEnd = {
  /** For the `content` of the end record; the caller of `seal` adds what the client said. */
  readonly content: Record<string, unknown>;
  /** Generated. */
  readonly tokens: number;
} & Pick<EndRecord, 'turnRewards' | 'bytes'>;
