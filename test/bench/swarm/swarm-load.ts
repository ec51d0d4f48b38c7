import { inParallel } from '../in-parallel.js';
import type { Requests } from './requests.js';

/** The requests of clients to a swarm. */
export type Claimed = { readonly episode_id: string; readonly base_url: string; readonly key: string };

let numClaims = 0;

/** Posts enough tasks for any load. */
export async function postTasks(requests: Requests, url: string, count: number, key = ''): Promise<void> {
  for (let start = 0; start < count; start += 1000) {
    const size = Math.min(1000, count - start);
    const tasks = Array.from({ length: size }, (_none, at) => ({
      task_id: `t${start + at}`,
      index: start + at,
      hash: 'h',
    }));
    const total = start + size === count ? { total: count } : {};
    await requests.post(`${url}/swarm/v1/tasks`, { tasks, ...total }, key);
  }
}

export async function claim(
  requests: Requests,
  url: string,
  key = '',
): Promise<Claimed & { readonly claim_id: string }> {
  const body = { claim_id: `c${numClaims++}`, client: 'bench', life: 'bench', lease_seconds: 3600, wait_seconds: 10 };
  const { episodes } = await requests.post(`${url}/swarm/v1/episodes`, body, key);
  const [episode] = episodes as readonly Claimed[];
  if (episode === undefined) throw new Error('The swarm gave no episode.');
  return { ...episode, claim_id: body.claim_id };
}

export const endBody = (reward: number) =>
  ({ client: 'bench', status: 'completed', reward, is_success: true, metadata: { moves: 7 } }) as const;

export function end(
  requests: Requests,
  url: string,
  { episode_id }: Claimed,
  { reward = 1, key = '' }: { readonly reward?: number; readonly key?: string } = {},
): Promise<unknown> {
  return requests.post(`${url}/swarm/v1/episodes/${episode_id}/end`, endBody(reward), key);
}

/** Makes the model calls of one episode. Each call continues the previous answer. */
export class Conversation {
  readonly #requests: Requests;
  readonly #address: string;
  readonly #key: string;
  readonly #messages: { readonly role: string; readonly content: string }[];

  constructor(requests: Requests, address: string, { key, system }: { readonly key: string; readonly system: string }) {
    this.#requests = requests;
    this.#address = address;
    this.#key = key;
    this.#messages = [{ role: 'system', content: system }];
  }

  /** The body of the next call. */
  get body(): string {
    return JSON.stringify({ model: 'm', messages: this.#messages });
  }

  async ask(text: string): Promise<void> {
    this.#messages.push({ role: 'user', content: text });
    const answer = await this.#requests.post(`${this.#address}/chat/completions`, this.body, this.#key);
    const [choice] = answer['choices'] as readonly { readonly message: { readonly content: string } }[];
    this.#messages.push({ role: 'assistant', content: choice?.message.content ?? '' });
  }
}

export type Mix = {
  readonly clients: number;
  readonly episodes: number;
  readonly calls: number;
  readonly bytes: number;
};

/** Clients that have many episodes open at once and make calls in all of them. */
export async function playMix(requests: Requests, url: string, mix: Mix): Promise<{ readonly numCalls: number }> {
  const system = wordsOf(mix.bytes);
  const numbers = Array.from({ length: mix.episodes }, (_none, index) => index);
  const claimed = await inParallel(numbers, mix.clients, () => claim(requests, url));
  const conversations = claimed.map(
    ({ base_url, key }) => new Conversation(requests, `${base_url}/main/v1`, { key, system }),
  );
  for (let call = 0; call < mix.calls; call++) {
    await inParallel(conversations, mix.clients, (conversation) => conversation.ask(`Question ${call}?`));
  }
  return { numCalls: mix.episodes * mix.calls };
}

/** Makes varied text of that size, which does not just repeat one word. */
export function wordsOf(bytes: number): string {
  const words: string[] = [];
  for (let size = 0, index = 0; size < bytes; index++) {
    const word = `word${(index * 7919) % 10_007}`;
    words.push(word);
    size += word.length + 1;
  }
  return words.join(' ').slice(0, bytes);
}
