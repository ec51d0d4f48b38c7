import { retry } from '@agentjet/swarm-client';
import type { Swarm } from '@agentjet/swarm-server/swarm';
import { WireError } from '@agentjet/swarm-wire';
import type { Audit } from './audit.js';
import { Life } from './life.js';
import type { Network } from './network.js';
import type { World } from './world.js';

/**
 * An operator who gives orders, and a scorer that puts rewards on whole groups. Both repeat requests that got no
 * answer.
 */
export class Operator {
  readonly #world: World;
  readonly #network: Network;
  readonly #audit: Audit;
  readonly #life: Life;
  #numScores = 1000;
  #numOrders = 0;
  isStopped = false;

  constructor(world: World, network: Network, audit: Audit) {
    this.#world = world;
    this.#network = network;
    this.#audit = audit;
    this.#life = new Life(world);
  }

  order<Answer>(route: (swarm: Swarm) => Promise<Answer>): Promise<Answer> {
    const send = (): Promise<Answer> => this.#network.send('operator', this.#life, route);
    return retry(this.#life.host, send, { firstGapMs: 50, maxGapMs: 400 });
  }

  operate(operation: 'pause' | 'resume' | 'drain'): Promise<void> {
    const requestId = `order-${this.#numOrders++}`;
    return this.order((swarm) => swarm.operate(operation, requestId));
  }

  /** Changes the configuration, after reading its revision. */
  async configure(): Promise<void> {
    const requestId = `change-${this.#world.numEvents}`;
    const { config_revision: seen } = await this.order(async (swarm) => swarm.describe());
    const request = { request_id: requestId, changes: { lr: this.#world.random() } };
    try {
      const { revision, from_step } = await this.order((swarm) => swarm.configure(request, seen));
      this.#audit.configs.push({ revision, fromStep: from_step });
    } catch (error) {
      if (!(error instanceof WireError) || error.code !== 'revision_conflict') throw error;
    }
  }

  /** Changes the parts of the shares. */
  async share(): Promise<void> {
    const a = 0.2 + 0.6 * this.#world.random();
    const requestId = `share-${this.#world.numEvents}`;
    const { revision, from_step } = await this.order((swarm) => swarm.share({ a, b: 1 - a }, requestId));
    this.#audit.configs.push({ revision, fromStep: from_step });
  }

  async score(): Promise<void> {
    while (!this.isStopped) {
      await this.#life.wait(150 + this.#world.about(200));
      const isHasty = this.#world.chance(0.05); // a hasty scorer does not wait for the whole group
      const { groups } = await this.order((swarm) => swarm.unscored(isHasty || this.#world.chance(0.1)));
      const [group] = groups;
      if (group === undefined) continue;
      const revision = ++this.#numScores;
      const episodes = isHasty ? group.episodes.slice(1) : group.episodes;
      if (episodes.length === 0) continue;
      const rewards = episodes.map(({ episode_id }) => ({ episode_id, reward: revision % 7, is_success: null }));
      const request = { revision: `${revision}`, replaces: group.score_revision, rewards };
      const put = this.order((swarm) => swarm.score(group.group_id, request)).then(
        () => this.#audit.scores.set(group.group_id, revision),
        () => undefined,
      );
      if (this.#world.chance(0.9)) await put; // otherwise the next request is sent before this one is answered
    }
  }
}
