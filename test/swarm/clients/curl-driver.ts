import { execFile, spawnSync } from 'node:child_process';
import { promisify } from 'node:util';
import type { Arguments, ClientDriver, DriverOptions, Outcome, SeenEpisode, Verb } from './client-driver.js';

const execute = promisify(execFile);

export const hasCurl = spawnSync('curl', ['--version']).status === 0;

type Request = { readonly method?: 'GET'; readonly url: string; readonly body?: unknown; readonly key?: string };

/** Makes requests as a person types them, without a library. */
export function createCurlDriver({ url, key, client }: DriverOptions): ClientDriver {
  const base = `${url}/swarm/v1`;
  const life = `life-${client}`;
  const send = async ({ method, url: address, body, key: own = key }: Request): Promise<Outcome> => {
    const headers = ['-H', `authorization: Bearer ${own}`, '-H', 'content-type: application/json'];
    const data = body === undefined ? [] : ['-d', toJson(body)];
    const { stdout } = await execute('curl', ['-sS', '-X', method ?? 'POST', ...headers, ...data, address]);
    const answer = JSON.parse(stdout) as { readonly error?: { readonly code: string } } & Readonly<
      Record<string, unknown>
    >;
    return answer.error === undefined ? { ok: answer } : { error: answer.error.code };
  };
  const verbs: Readonly<Record<Verb, (args: Arguments) => Promise<Outcome>>> = {
    server: () => send({ method: 'GET', url: `${base}/server` }),
    add_tasks: ({ rows }) => send({ url: `${base}/tasks`, body: rows }),
    claim: (args) => send({ url: `${base}/episodes`, body: { ...args, client, life, lease_seconds: 60 } }),
    heartbeat: (args) => send({ url: `${base}/heartbeats`, body: { ...args, client, life } }),
    end: ({ episode_id, ...said }) =>
      send({ url: `${base}/episodes/${String(episode_id)}/end`, body: { client, status: 'completed', ...said } }),
    abandon: ({ episode_id }) => send({ url: `${base}/episodes/${String(episode_id)}/abandon`, body: { client } }),
    chat: async ({ episode, text, agent = 'solver' }) => {
      const { base_url: root, key: own, model } = episode as SeenEpisode;
      const body = { model, messages: [{ role: 'user', content: text }] };
      const answer = await send({ url: `${root}/${String(agent)}/v1/chat/completions`, body, key: own });
      if ('error' in answer) return answer;
      const [choice] = answer.ok['choices'] as readonly { readonly message: { readonly content: string } }[];
      return { ok: { content: choice?.message.content } };
    },
  };
  return { name: 'curl', ask: (verb, args) => verbs[verb](args), close: async () => undefined };
}

/** JSON has no NaN, but people sometimes write it. */
function toJson(body: unknown): string {
  return JSON.stringify(body, (_key, value: unknown) => (Number.isNaN(value) ? '<NaN>' : value)).replace(
    '"<NaN>"',
    'NaN',
  );
}
