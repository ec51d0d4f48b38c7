import { WireError } from '@agentjet/swarm-wire';
import type { Swarm } from '@agentjet/swarm-server/swarm';
import type { Audit } from './audit.js';
import type { Life } from './life.js';
import type { World } from './world.js';

/** A process that answers requests. */
export type Listener = { readonly life: Life; readonly swarm: Swarm };

/**
 * Delivers requests between clients and servers. It loses, repeats, delays and reorders them, and cuts connections in
 * one direction.
 */
export class Network {
  readonly listeners = new Set<Listener>();
  readonly cut = new Set<string>();
  readonly #world: World;
  readonly #audit: Audit;

  constructor(world: World, audit: Audit) {
    this.#world = world;
    this.#audit = audit;
  }

  /**
   * Sends a request to some server. It rejects if no answer comes in time, but the server may have done the work.
   */
  send<Answer>(client: string, life: Life, route: (swarm: Swarm, life: Life) => Promise<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const stopWaiting = life.host.after(400 + this.#world.about(200), () => reject(new Error('no answer')));
      const reply = (settle: () => void): void => {
        if (this.#isLost(client, 'in')) return;
        life.host.after(this.#delay(), () => {
          stopWaiting();
          settle();
        });
      };
      for (let copies = this.#world.fault(0.05) ? 2 : 1; copies > 0; copies--) {
        if (this.#isLost(client, 'out')) continue;
        this.#world.after(this.#delay(), () => this.#deliver(route, reply, { resolve, reject }));
      }
    });
  }

  #deliver<Answer>(
    route: (swarm: Swarm, life: Life) => Promise<Answer>,
    reply: (settle: () => void) => void,
    { resolve, reject }: Settle<Answer>,
  ): void {
    const listeners = [...this.listeners].filter(({ life }) => life.isAlive);
    const found = listeners[Math.floor(this.#world.random() * listeners.length)];
    if (found === undefined) return;
    route(found.swarm, found.life).then(
      (answer) => found.life.isAlive && reply(() => resolve(answer)),
      (error: unknown) => {
        if (!found.life.isAlive) return;
        this.#audit.require(error instanceof WireError, `a request met our own bug: ${String(error)}`);
        reply(() => reject(error));
      },
    );
  }

  #isLost(client: string, direction: 'in' | 'out'): boolean {
    return this.#world.fault(0.05) || this.cut.has(`${client} ${direction}`);
  }

  #delay(): number {
    return this.#world.about(this.#world.fault(0.03) ? 2500 : 5);
  }
}

type Settle<Answer> = { readonly resolve: (answer: Answer) => void; readonly reject: (error: unknown) => void };
