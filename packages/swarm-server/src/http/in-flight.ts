import type { HttpBindings } from '@hono/node-server';
import { systemHost } from '@agentjet/ledger';

/**
 * Counts requests that get their answers soon, mainly the ends of episodes. A server that stops still sends these
 * answers. It does not count requests that only read, nor claims and model calls, because these may wait for a long
 * time.
 */
export class InFlight {
  readonly #open = new Set<HttpBindings['outgoing']>();
  #tell = (): void => undefined;

  note({ incoming, outgoing }: HttpBindings): void {
    const { method, url = '' } = incoming;
    if (method === 'GET' || url.startsWith('/e/') || /^\/swarm\/v1\/episodes\/?(\?|$)/.test(url)) return;
    this.#open.add(outgoing);
    outgoing.once('close', () => {
      this.#open.delete(outgoing);
      if (this.#open.size === 0) this.#tell();
    });
  }

  /** Resolves when all of these requests have their answers, or after `patienceMs`. */
  async settled(patienceMs: number): Promise<void> {
    if (this.#open.size === 0) return;
    await new Promise<void>((resolve) => {
      const cancel = systemHost.after(patienceMs, resolve);
      this.#tell = () => {
        cancel();
        resolve();
      };
    });
  }
}
