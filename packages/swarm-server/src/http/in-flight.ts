import type { HttpBindings } from '@hono/node-server';
import { systemHost } from '@agentjet/ledger';

/**
 * Requests that get their answers soon, above all ends: a stopping server still sends their receipts. Requests that
 * only read are not counted, nor claims and model calls, which may wait for long.
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

  /** Resolves when all of them have their answers, or after so many milliseconds. */
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
