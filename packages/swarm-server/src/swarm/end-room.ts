import type { Store } from '@agentjet/ledger';
import { WireError, type EndRequest } from '@agentjet/swarm-wire';

/** Throws WireError `store_full` if the disk is nearly full. `refused` names the work that is refused. */
export function requireRoom(store: Pick<Store, 'hasRoom'>, refused: string): void {
  if (store.hasRoom()) return;
  throw new WireError(
    'store_full',
    `The disk of the server is nearly full. The server accepts ends, but ${refused}. Free disk space.`,
    { retryAfterMs: 5000 },
  );
}

/**
 * Reserves room for ends on a nearly full disk. An end that does not fit is refused before it changes anything, because
 * a failed commit ends the swarm.
 */
export class EndRoom {
  readonly #store: Pick<Store, 'hasRoom' | 'hasRoomFor'>;
  /** The size of the ends that are accepted but not yet committed. */
  #pendingBytes = 0;

  constructor(store: Pick<Store, 'hasRoom' | 'hasRoomFor'>) {
    this.#store = store;
  }

  /**
   * Reserves room for an end. Call the returned function when the end is committed. Returns undefined if the disk has
   * enough room for any end. `countTokens` returns the number of sampled tokens, and is called only on a nearly full
   * disk. Throws WireError `store_full` if there is no room.
   */
  take(end: EndRequest, countTokens: () => number): (() => void) | undefined {
    if (this.#store.hasRoom()) return undefined;
    const bytes = Buffer.byteLength(JSON.stringify(end)) + countTokens() * bytesOfToken + bytesOfRest;
    if (!this.#store.hasRoomFor(this.#pendingBytes + bytes))
      throw new WireError(
        'store_full',
        'The disk of the server is full, so it cannot accept this end. It accepts it as soon as there is room. Free disk space.',
        { retryAfterMs: 2000 },
      );
    this.#pendingBytes += bytes;
    return () => void (this.#pendingBytes -= bytes);
  }
}

/** The bytes of a token in the sealed rows: id, log-probability, mask and position, plus a margin. */
const bytesOfToken = 64;
const bytesOfRest = 4096;
