import { systemHost } from '@agentjet/ledger';
import { WireError, type EndRequest, type KeyLimits } from '@agentjet/swarm-wire';
import type { StoredKey } from './keys.js';

/** The limits of a worker's or an observer's key. A commander's key has only the limits that were set for it. */
export const defaultKeyLimits: Required<KeyLimits> = {
  requests_per_second: 1000,
  bytes_per_second: 32 * 2 ** 20,
  metadata_bytes: 256 * 1024,
  metric_names: 200,
  event_streams: 8,
};

/** The number of episodes that a worker's key may run at the same time, if it has no `max_episodes`. */
export const defaultOpenEpisodes = 256;

/** A key can send a burst as large as its rates allow in this many seconds. */
const burstSeconds = 4;

/** JSON that is parsed and serialized again is at most this many times as long: `1e20` becomes a number of 21 digits. */
const growth = 6;

type Usage = { requests: number; bytes: number; atMs: number; streams: number; readonly metrics: Set<string> };

/** Counts the requests, streams and metrics of each key. A new key with an old name starts with new counts. */
export class KeyLimiter {
  readonly #usage = new Map<string, Usage>();
  readonly #now: () => number;

  constructor(now: () => number = systemHost.now) {
    this.#now = now;
  }

  /**
   * Counts a request with a body of this size. A request is refused only if earlier requests used up the rate, so a
   * single body may be larger than the rate of a second.
   * @throws WireError `too_many_requests`
   */
  take(key: StoredKey | undefined, bytes: number): void {
    const limits = limitsOf(key);
    if (key === undefined || limits === undefined) return;
    const { requests_per_second: requests = Infinity, bytes_per_second: rate = Infinity } = limits;
    const usage = this.#usageOf(key);
    const seconds = Math.max(0, this.#now() - usage.atMs) / 1000;
    usage.atMs = this.#now();
    usage.requests = Math.max(0, usage.requests - seconds * requests || 0);
    usage.bytes = Math.max(0, usage.bytes - seconds * rate || 0);
    refuseAbove(key, { used: usage.requests, rate: requests, what: 'requests' });
    refuseAbove(key, { used: usage.bytes, rate, what: 'bytes' });
    usage.requests += 1;
    usage.bytes += bytes;
  }

  /**
   * Counts a stream of events. Call the returned function when the stream ends.
   * @throws WireError `too_many_streams`
   */
  openStream(key: StoredKey | undefined): () => void {
    const most = limitsOf(key)?.event_streams ?? Infinity;
    if (key === undefined) return () => undefined;
    const usage = this.#usageOf(key);
    if (usage.streams >= most)
      throw new WireError(
        'too_many_streams',
        `The key "${key.name}" has ${usage.streams} streams of events open, which is its limit (event_streams). Close one.`,
        { retryAfterMs: 5000 },
      );
    usage.streams++;
    let isOpen = true;
    return () => {
      if (isOpen) usage.streams--;
      isOpen = false;
    };
  }

  /**
   * Checks the size of an end's metadata, and counts the names of its metrics. `bodyBytes` is the size of the whole end,
   * so that the metadata of a small end need not be measured. Default: unknown.
   * @throws WireError `metadata_too_large`, `too_many_metrics`
   */
  requireEnd(
    key: StoredKey | undefined,
    { metadata, log_metrics: logged, parts = {} }: EndRequest,
    bodyBytes = Infinity,
  ): void {
    const limits = limitsOf(key);
    if (key === undefined || limits === undefined) return;
    const { metadata_bytes: mostBytes = Infinity, metric_names: mostNames = Infinity } = limits;
    const isSmall = growth * bodyBytes <= mostBytes;
    const bytes = isSmall || mostBytes === Infinity ? 0 : Buffer.byteLength(JSON.stringify(metadata));
    if (bytes > mostBytes)
      throw new WireError(
        'metadata_too_large',
        `The metadata has ${bytes} bytes; the key "${key.name}" allows ${mostBytes} for an episode (metadata_bytes). Report less.`,
      );
    const { metrics } = this.#usageOf(key);
    const names = [...Object.keys(logged), ...Object.keys(parts).map((name) => `parts.${name}`)];
    const added = names.filter((name) => !metrics.has(name));
    if (metrics.size + added.length > mostNames)
      throw new WireError(
        'too_many_metrics',
        `The metric ${JSON.stringify(added[mostNames - metrics.size]?.slice(0, 100))} would be one more than the ${mostNames} names that the key "${key.name}" may use (metric_names). Use fixed names.`,
      );
    for (const name of added) metrics.add(name);
  }

  #usageOf({ id }: StoredKey): Usage {
    const known = this.#usage.get(id);
    if (known !== undefined) return known;
    const usage = { requests: 0, bytes: 0, atMs: this.#now(), streams: 0, metrics: new Set<string>() };
    this.#usage.set(id, usage);
    return usage;
  }
}

/** Returns the limits of a key, or undefined if the key has none. */
function limitsOf(key: StoredKey | undefined): KeyLimits | undefined {
  if (key === undefined) return undefined;
  return key.role === 'commander' ? key.limits : { ...defaultKeyLimits, ...key.limits };
}

type Used = { readonly used: number; readonly rate: number; readonly what: 'requests' | 'bytes' };

function refuseAbove({ name }: StoredKey, { used, rate, what }: Used): void {
  if (used < rate * burstSeconds) return;
  const retryAfterMs = Math.ceil(((used - rate * burstSeconds) / rate) * 1000) + 100;
  throw new WireError(
    'too_many_requests',
    `The key "${name}" may send ${rate} ${what} a second (${what}_per_second), and has sent more. Wait, or ask for a key with a higher limit.`,
    { retryAfterMs },
  );
}
