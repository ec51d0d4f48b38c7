import type { AgentIdentity } from '@agentjet/context-tracker';
import type { EndpointSession } from '@agentjet/endpoint';
import { WireError, type EndRequest } from '@agentjet/swarm-wire';
import type { Swarm } from '../swarm/swarm.js';
import type { EpisodeHolder, ModelPort, SealedEnd } from './model-port.js';
import type { ServedEpisodes } from './served-episodes.js';

/** One of several models: the agents that it trains, and its trackers for every episode. */
export type PolicyPart = {
  readonly name: string;
  readonly targets: readonly string[];
  readonly episodes: ServedEpisodes;
};

/**
 * The running episodes of a server with several models. Each model has its own tracker of an episode. The end of the
 * episode seals all of these trackers or none.
 */
export class PolicyEpisodes implements ModelPort, EpisodeHolder {
  readonly #parts: readonly PolicyPart[];

  constructor(parts: readonly PolicyPart[]) {
    this.#parts = parts;
  }

  attach(swarm: Swarm): void {
    for (const { episodes } of this.#parts) episodes.attach(swarm);
  }

  /** Throws TypeError if no policy trains the agent. The debug model of such an agent runs at the client. */
  sessionOf(episodeId: string, agent: AgentIdentity): EndpointSession {
    const part = this.#parts.find(({ targets }) => targets.includes(agent.targetTag));
    if (part === undefined) throw new TypeError(`No policy trains the target "${agent.targetTag}".`);
    return part.episodes.sessionOf(episodeId, agent);
  }

  seal = (episodeId: string, request: EndRequest): SealedEnd => {
    this.#requireKnownRewards(request);
    const seals = this.#parts.map(({ name, episodes }) => {
      const turns = this.#turnRewardsOf(name, episodeId, request);
      return { name, seal: episodes.prepareSeal(episodeId, { ...request, turn_rewards: turns }) };
    }); // if one policy refuses, the episode continues in all policies
    const sealed = seals.map(({ name, seal }) => ({ name, ...seal() }));
    const turnRewards = sealed.flatMap((each) => each.turnRewards ?? []);
    const bytes = sealed.flatMap((each) => each.bytes ?? []);
    let at = 0;
    const contents = sealed.map(({ name, content, bytes: own = [] }) => {
      at += own.length;
      return [name, { ...content, bytes_at: at - own.length }] as const;
    });
    return {
      tokens: sealed.reduce((sum, { tokens }) => sum + tokens, 0),
      ...(turnRewards.length > 0 && { turnRewards }),
      ...(bytes.length > 0 && { bytes }),
      content: { policies: Object.fromEntries(contents) },
    };
  };

  tokensOf = (episodeId: string): number =>
    this.#parts.reduce((sum, { episodes }) => sum + episodes.tokensOf(episodeId), 0);

  close = (episodeId: string): void => {
    for (const { episodes } of this.#parts) episodes.close(episodeId);
  };

  get numOpen(): number {
    return Math.max(...this.#parts.map(({ episodes }) => episodes.numOpen));
  }

  closeAll(): void {
    for (const { episodes } of this.#parts) episodes.closeAll();
  }

  /**
   * Throws WireError `invalid_request` unless at least one of the rewards is for an agent that learns. Other agents may
   * have rewards too, as in workflows.
   */
  #requireKnownRewards({ rewards = {} }: EndRequest): void {
    const names = Object.keys(rewards);
    const known = this.#parts.flatMap(({ name, targets }) => [name, ...targets]);
    if (names.length === 0 || names.some((name) => known.includes(name))) return;
    throw new WireError(
      'invalid_request',
      `"rewards" names ${names.join(', ')}; the policies and their targets are ${[...new Set(known)].join(', ')}.`,
    );
  }

  /**
   * Returns the turn rewards of one policy: those of agents whose turns it sampled. If an agent has made no turns, the
   * first policy gets the reward and refuses it.
   */
  #turnRewardsOf(policy: string, episodeId: string, { turn_rewards = [] }: EndRequest): typeof turn_rewards {
    const ownerOf = (agent: string): string | undefined =>
      (this.#parts.find(({ episodes }) => episodes.hasTurnsOf(episodeId, agent)) ?? this.#parts[0])?.name;
    return turn_rewards.filter(({ agent }) => ownerOf(agent) === policy);
  }
}
