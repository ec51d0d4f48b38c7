import type { HttpBindings } from '@hono/node-server';
import { systemHost } from '@agentjet/ledger';

/**
 * Requests that have no answer yet and get one soon: ends above all, whose receipts a server that stops still gives. What only
 * reads is not among them, nor claims and model calls, which may wait for long.
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
