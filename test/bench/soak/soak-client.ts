import { setTimeout as sleep } from 'node:timers/promises';
import type { Requests } from '../swarm/requests.js';

/** What all clients have seen so far. */
export type SoakLog = {
  readonly startMs: number;
  /** The times of ends, since the start. */
  readonly latencies: { readonly atMs: number; readonly ms: number }[];
  /** Episodes whose ends got their receipt. */
  readonly acknowledged: Set<string>;
  /** The number of faults, by their names. */
  readonly counts: Record<string, number>;
};

type Claimed = { readonly episode_id: string; readonly base_url: string; readonly key: string };

type Options = {
  readonly url: string;
  readonly requests: Requests;
  readonly name: string;
  readonly random: { readonly next: () => number };
  readonly log: SoakLog;
};

const callsPerEpisode = 3;
/** The average time between two requests, which an agent spends in its tools. */
const thinkMs = 5000;
const leaseSeconds = 20;

/** A client that runs one episode after the other. Some of its requests fail on purpose. */
export class SoakClient {
  readonly #options: Options;
  #life = 0;
  #numClaims = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const episode = await this.#claim();
        if (episode === undefined) await this.#think(signal, 200);
        else await this.#play(episode, signal);
      } catch {
        await this.#think(signal, 500); // because the server is recovering, or the episode is gone
      }
    }
  }

  /** Returns true if this kind of fault should happen now. */
  #strikes(fault: string, chance: number): boolean {
    if (this.#options.random.next() >= chance) return false;
    const { counts } = this.#options.log;
    counts[fault] = (counts[fault] ?? 0) + 1;
    return true;
  }

  async #think(signal: AbortSignal, ms = thinkMs): Promise<void> {
    await sleep(2 * this.#options.random.next() * ms, undefined, { signal }).catch(() => {});
  }

  async #claim(): Promise<Claimed | undefined> {
    const { url, requests, name } = this.#options;
    const body = {
      claim_id: `${name}-${this.#life}-${this.#numClaims++}`,
      client: name,
      life: `life-${this.#life}`,
      lease_seconds: leaseSeconds,
      wait_seconds: 5,
    };
    if (this.#strikes('claim sent twice', 0.01)) await requests.post(`${url}/swarm/v1/episodes`, body);
    const { episodes } = await requests.post(`${url}/swarm/v1/episodes`, body);
    return (episodes as readonly Claimed[])[0];
  }

  async #play(episode: Claimed, signal: AbortSignal): Promise<void> {
    const messages: { readonly role: string; readonly content: string }[] = [{ role: 'system', content: 'Answer.' }];
    for (let call = 0; call < callsPerEpisode && !signal.aborted; call++) {
      await this.#think(signal);
      messages.push({ role: 'user', content: `What is ${call} times ${call}?` });
      messages.push({ role: 'assistant', content: await this.#call(episode, messages) });
      if (!this.#strikes('client vanished', 0.005)) continue;
      // Vanish without a request. The episode becomes free when the lease ends or the client starts again.
      this.#life++;
      return;
    }
    await this.#end(episode);
  }

  async #call({ base_url, key }: Claimed, messages: readonly object[]): Promise<string> {
    const { requests } = this.#options;
    const url = `${base_url}/main/v1/chat/completions`;
    const body = { model: 'm', messages };
    if (this.#strikes('call broken off', 0.01)) await this.#breakOff(url, JSON.stringify(body), key);
    if (this.#strikes('hostile call', 0.02)) await requests.post(url, '{"messages":', key).catch(() => {});
    const answer = await requests.post(url, body, key);
    const [choice] = answer['choices'] as readonly { readonly message: { readonly content: string } }[];
    return choice?.message.content ?? '';
  }

  /** Repeats the end until it has its receipt, or the episode is gone. */
  async #end({ episode_id }: Claimed): Promise<void> {
    const { url, requests, name, log, random } = this.#options;
    const isFailed = this.#strikes('failed episode', 0.03);
    const status = isFailed ? 'failed' : this.#strikes('outage', 0.02) ? 'outage' : 'completed';
    const reward = status === 'completed' ? Math.round(random.next()) : null;
    const body = JSON.stringify({ client: name, status, reward, is_success: reward === 1 });
    const address = `${url}/swarm/v1/episodes/${episode_id}/end`;
    if (this.#strikes('end broken off', 0.02)) await this.#breakOff(address, body);
    const again = this.#strikes('end sent twice', 0.02);
    for (let tries = 0; tries < 600; tries++) {
      const sentMs = performance.now();
      try {
        await requests.send(address, body);
        log.acknowledged.add(episode_id);
        log.latencies.push({ atMs: sentMs - log.startMs, ms: performance.now() - sentMs });
        if (again) await requests.send(address, body);
        return;
      } catch (error) {
        if (/ answered (409|410|403)/.test(String(error))) return;
        await sleep(200);
      }
    }
  }

  /** Sends half of the body and closes the connection. */
  async #breakOff(url: string, body: string, key = ''): Promise<void> {
    const stop = new AbortController();
    const half = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode(body.slice(0, body.length / 2))),
    });
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const sent = fetch(url, {
      method: 'POST',
      body: half,
      headers,
      signal: stop.signal,
      duplex: 'half',
    } as RequestInit);
    setTimeout(() => stop.abort(), 50);
    await sent.then(
      (response) => response.body?.cancel(),
      () => {},
    );
  }
}
