import { WireError } from '@agentjet/swarm-wire';
import type { ClaimKey } from './episode-answers.js';

/** The state of a client. Every request updates it. */
type Client = {
  readonly life: string;
  /** Name of the worker key that it uses. Absent for a commander's key, and in a swarm without keys. */
  readonly keyName?: string | undefined;
  seenMs: number;
  revision?: string;
  /** Shares that the client can run. */
  can?: readonly string[];
  /** The version of the weights after which the client asks for the next step. */
  agreesAfter?: number;
  /** The version of the weights when it last ended an episode. */
  endedAt?: number;
  /** The number of its claims that wait for a place, and the time when the last one was answered. */
  claims?: number;
  claimedMs?: number;
  readonly hasLeft?: true;
};

/** A client that has sent a request in the last 30 seconds, or whose claim still waits. */
export type PresentClient = {
  readonly name: string;
  readonly revision: string;
  readonly shares: readonly string[];
  /** The number of its claims that wait for a place. */
  readonly claims: number;
  readonly keyName: string | undefined;
  readonly silentMs: number;
};

type Greeting = {
  readonly client: string;
  readonly life: string;
  /** Absent in a swarm without keys. */
  readonly key: ClaimKey | undefined;
};

/** A revision of the code counts as gone if no client has run it for this time. */
const silentMs = 30_000;
/** A client is forgotten after this time without a request. */
const forgetAfterMs = 3_600_000;
const forgetEveryMs = 60_000;

/**
 * Tracks the current life of each client, which is the time from one start of its process to the next. After a restart,
 * the episodes of the old life are dropped at once, before their leases end. If two programs use one name, the second
 * program is refused as long as the first one sends heartbeats.
 */
export class ClientLives {
  readonly #now: () => number;
  readonly #aliveMs: number;
  readonly #sinceMs: number;
  readonly #clients = new Map<string, Client>();
  readonly #revisions = new Set<string>();
  #forgotMs = 0;

  constructor(now: () => number, aliveMs: number) {
    this.#now = now;
    this.#aliveMs = aliveMs;
    this.#sinceMs = now();
  }

  /** Whether the client is known and uses this worker key. */
  isOf(client: string, keyName: string): boolean {
    return this.#clients.get(client)?.keyName === keyName;
  }

  /**
   * Notes a request of a client. Returns true if the client was restarted. The caller must then drop the episodes of
   * its old life.
   * @throws WireError `name_taken` while another running program, or a client with another worker key, has this name
   */
  greet({ client, life, key }: Greeting): boolean {
    const now = this.#now();
    this.#forget(now);
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

  /** Forgets the clients that were silent for an hour. Their names become free, and their revisions stay known. */
  #forget(now: number): void {
    if (now - this.#forgotMs < forgetEveryMs) return;
    this.#forgotMs = now;
    for (const [name, client] of this.#clients)
      if ((client.claims ?? 0) === 0 && Math.max(client.seenMs, client.claimedMs ?? -Infinity) < now - forgetAfterMs)
        this.#clients.delete(name);
  }

  /** Notes which code a client runs. */
  noteRevision(client: string, revision: string): void {
    const known = this.#clients.get(client);
    if (known !== undefined) known.revision = revision;
    this.#revisions.add(revision);
  }

  /**
   * Notes which shares a client can run. The client counts as alive while its claim waits for a place, although it
   * sends nothing else.
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

  /** Notes that a client ended an episode while this version of the weights answered. */
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
   * Whether clients ask for the step after this version. One client is enough unless `all` is true. Then every client
   * that ended an episode at this version must ask, except clients that are silent.
   */
  agree(all: boolean, version: number): boolean {
    const present = this.#present(this.#now() - silentMs);
    const asks = ({ agreesAfter = -1 }: Client): boolean => agreesAfter >= version;
    if (!present.some(asks)) return false;
    return !all || present.filter(({ endedAt = -1 }) => endedAt >= version).every(asks);
  }

  /** Returns the present clients in the order of their first requests. */
  present(): readonly PresentClient[] {
    const now = this.#now();
    return [...this.#clients].flatMap(([name, client]) => {
      if (!isThere(client, now - silentMs)) return [];
      const { revision = '', can = [], claims = 0, keyName, seenMs } = client;
      return [{ name, revision, shares: can, claims, keyName, silentMs: claims > 0 ? 0 : now - seenMs }];
    });
  }

  #present(sinceMs: number): readonly Client[] {
    return [...this.#clients.values()].filter((client) => isThere(client, sinceMs));
  }

  /**
   * Whether a client may still run this code, because a client with this code sent a request recently, or because the
   * server started too recently to know.
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
    const leftMs = this.#now();
    this.#clients.set(client, { life, keyName: known.keyName, seenMs: -Infinity, claimedMs: leftMs, hasLeft: true });
  }

  /** Whether the client has left or was restarted. Its waiting claim then gets nothing. */
  hasLeft(client: string, life: string): boolean {
    const known = this.#clients.get(client);
    return known !== undefined && (known.life !== life || known.hasLeft === true);
  }
}

function nameTaken(client: string, retryAfterMs: number): WireError {
  return new WireError(
    'name_taken',
    `Another program uses the client name "${client}" now. Give each program its own name; a restarted program can use its name as soon as the earlier process has been silent for a moment.`,
    { retryAfterMs: Math.ceil(retryAfterMs) },
  );
}

/** Whether the client has sent a request since `sinceMs`, or its claim waits for a place. */
const isThere = ({ seenMs, claims = 0, claimedMs = -Infinity, hasLeft }: Client, sinceMs: number): boolean =>
  hasLeft !== true && (claims > 0 || Math.max(seenMs, claimedMs) > sinceMs);

/** Creates the error for a client name that is in use with another key. */
export function otherKey(client: string, retryAfterMs: number): WireError {
  return new WireError(
    'name_taken',
    `The client name "${client}" is in use with another key. Give each program its own name; with a new key, a program gets its name back as soon as no episode that it claimed with the old one runs.`,
    { retryAfterMs: Math.ceil(retryAfterMs) },
  );
}
