import { WireError } from '@agentjet/swarm-wire';

/**
 * Which start of each client is the present one. A client that was restarted gives the episodes of its old life back at
 * once, instead of waiting for their leases. Two programs with one name are told apart by their heartbeats: the second
 * is refused while the first is heard of.
 */
export class ClientLives {
  readonly #now: () => number;
  readonly #aliveMs: number;
  readonly #clients = new Map<string, { readonly life: string; readonly seenMs: number }>();

  constructor(now: () => number, aliveMs: number) {
    this.#now = now;
    this.#aliveMs = aliveMs;
  }

  /** Notes that a client was heard of. True if this is a new life, whose predecessor's episodes are to be given back. */
  greet(client: string, life: string): boolean {
    const now = this.#now();
    const known = this.#clients.get(client);
    const isNew = known !== undefined && known.life !== life;
    if (isNew && now - known.seenMs < this.#aliveMs) throw nameTaken(client, this.#aliveMs - (now - known.seenMs));
    this.#clients.set(client, { life, seenMs: now });
    return known === undefined || isNew;
  }
}

function nameTaken(client: string, retryAfterMs: number): WireError {
  return new WireError(
    'name_taken',
    `Another program uses the client name "${client}" now. Give each program its own name; a program that was restarted is let in as soon as its old life has been silent for a moment.`,
    { retryAfterMs: Math.ceil(retryAfterMs) },
  );
}
