import type { HttpBindings } from '@hono/node-server';
import { systemHost } from '@agentjet/ledger';

/**
 * Requests that get their answers soon, mainly the ends of episodes. A stopping server still sends these answers.
 * Requests that only read are not counted. Claims and model calls are not counted either, because they may wait for
 * long.
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
