import { WireError } from '@agentjet/swarm-wire';
import type { ClaimKey } from './episode-answers.js';

/** The state of a client. It changes with every request. */
type Client = {
  readonly life: string;
  /** Name of the worker key that it uses. Absent for a commander's key, and in a swarm without keys. */
  readonly keyName?: string | undefined;
  seenMs: number;
  revision?: string;
  /** Shares that the client can run. */
  can?: readonly string[];
  /** The client asks for the step after this version of the weights. */
  agreesAfter?: number;
  /** The version at which it last ended an episode. */
  endedAt?: number;
  /** The number of its claims that wait for a place, and the time when the last one was answered. */
  claims?: number;
  claimedMs?: number;
  readonly hasLeft?: true;
};

type Greeting = {
  readonly client: string;
  readonly life: string;
  /** Absent in a swarm without keys. */
  readonly key: ClaimKey | undefined;
};

/** A revision of code counts as gone if no client ran it for this long. */
const silentMs = 30_000;

/**
 * Tracks the current life of each client. If a client was restarted, the episodes of its old life are dropped at once,
 * not only when their leases end. If two programs use one name, the second program is refused as long as the first one
 * sends heartbeats.
 */
export class ClientLives {
  readonly #now: () => number;
  readonly #aliveMs: number;
  readonly #sinceMs: number;
  readonly #clients = new Map<string, Client>();
  readonly #revisions = new Set<string>();

  constructor(now: () => number, aliveMs: number) {
    this.#now = now;
    this.#aliveMs = aliveMs;
    this.#sinceMs = now();
  }

  /** Whether the client is known, and came with this worker key. */
  isOf(client: string, keyName: string): boolean {
    return this.#clients.get(client)?.keyName === keyName;
  }

  /**
   * Notes a request of a client. Returns true if this is a new life, so the caller must drop the episodes of the old
   * life.
   * @throws WireError `name_taken` while another life, or a client of another worker key, has this name
   */
  greet({ client, life, key }: Greeting): boolean {
    const now = this.#now();
    const known = this.#clients.get(client);
    const isNew = known !== undefined && known.life !== life;
    const keyName = key?.isCommander === false ? key.name : undefined;
    const isForeign = known !== undefined && keyName !== undefined && known.keyName !== keyName;
    if (isForeign && isThere(known, now - this.#aliveMs)) throw otherKey(client, this.#aliveMs);
    if (isNew && now - known.seenMs < this.#aliveMs) throw nameTaken(client, this.#aliveMs - (now - known.seenMs));
    const same = isNew || isForeign ? undefined : known;
    if (same !== undefined && same.hasLeft === undefined) {
      same.seenMs = now;
      return false;
    }
    const { hasLeft: _left, ...said } = same ?? { keyName };
    this.#clients.set(client, { ...said, life, seenMs: now });
    return known === undefined || isNew;
  }

  /** Notes which code a client runs. */
  noteRevision(client: string, revision: string): void {
    const known = this.#clients.get(client);
    if (known !== undefined) known.revision = revision;
    this.#revisions.add(revision);
  }

  /**
   * Notes which shares a client can run. A client whose claim waits for a place counts as alive, although it sends
   * nothing.
   */
  async whileClaiming<Answer>(
    { client, can }: { readonly client: string; readonly can: readonly string[] },
    claim: () => Promise<Answer>,
  ): Promise<Answer> {
    const known = this.#clients.get(client);
    if (known === undefined) return claim();
    known.can = can;
    known.claims = (known.claims ?? 0) + 1;
    try {
      return await claim();
    } finally {
      known.claims--;
      known.claimedMs = this.#now();
    }
  }

  /** Notes that a client asks for the step after this version. */
  noteAgreement(client: string, agreesAfter: number): void {
    const known = this.#clients.get(client);
    if (known !== undefined) known.agreesAfter = agreesAfter;
  }

  /** Notes that a client ended an episode while this version answered. */
  noteEnd(client: string, version: number): void {
    const known = this.#clients.get(client);
    if (known === undefined) return;
    known.endedAt = version;
    known.seenMs = this.#now();
  }

  /**
   * Whether a client that runs this share sent a request within the patience. True if the server started too recently
   * to know.
   */
  mayServe(share: string, patienceMs: number): boolean {
    const sinceMs = this.#now() - patienceMs;
    if (this.#sinceMs > sinceMs) return true;
    return this.#present(sinceMs).some(({ can }) => can?.includes(share) === true);
  }

  /**
   * Whether one live client, or every live client that ended an episode at this version, asks for the step after it.
   * Silent clients are not waited for.
   */
  agree(all: boolean, version: number): boolean {
    const present = this.#present(this.#now() - silentMs);
    const asks = ({ agreesAfter = -1 }: Client): boolean => agreesAfter >= version;
    if (!present.some(asks)) return false;
    return !all || present.filter(({ endedAt = -1 }) => endedAt >= version).every(asks);
  }

  #present(sinceMs: number): readonly Client[] {
    return [...this.#clients.values()].filter((client) => isThere(client, sinceMs));
  }

  /**
   * Whether a client may still run this code: one sent a request recently, or the server started too recently to know.
   */
  mayRun(revision: string): boolean {
    const sinceMs = this.#now() - silentMs;
    const isHeard = [...this.#clients.values()].some(
      (client) => client.revision === revision && client.hasLeft !== true && client.seenMs > sinceMs,
    );
    return isHeard || (this.#sinceMs > sinceMs && !this.#revisions.has(revision));
  }

  /** Notes that the client is stopping, so another program may take its name at once. */
  leave(client: string, life: string): void {
    const known = this.#clients.get(client);
    if (known?.life !== life) return;
    this.#clients.set(client, { life, keyName: known.keyName, seenMs: -Infinity, hasLeft: true });
  }

  /** A waiting claim gets nothing if its client has left, or has started a new life. */
  hasLeft(client: string, life: string): boolean {
    const known = this.#clients.get(client);
    return known !== undefined && (known.life !== life || known.hasLeft === true);
  }
}

function nameTaken(client: string, retryAfterMs: number): WireError {
  return new WireError(
    'name_taken',
    `Another program uses the client name "${client}" now. Give each program its own name; a program that was restarted is let in as soon as its old life has been silent for a moment.`,
    { retryAfterMs: Math.ceil(retryAfterMs) },
  );
}

/** Whether the client sent a request since then, or its claim waits for a place. */
const isThere = ({ seenMs, claims = 0, claimedMs = -Infinity, hasLeft }: Client, sinceMs: number): boolean =>
  hasLeft !== true && (claims > 0 || Math.max(seenMs, claimedMs) > sinceMs);

/** The error for a client name that is in use with another key. */
export function otherKey(client: string, retryAfterMs: number): WireError {
  return new WireError(
    'name_taken',
    `The client name "${client}" is in use with another key. Give each program its own name; with a new key, a program gets its name back as soon as no episode that it claimed with the old one runs.`,
    { retryAfterMs: Math.ceil(retryAfterMs) },
  );
}
