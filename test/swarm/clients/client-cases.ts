import { expect } from 'vitest';
import type { Arguments, ClientDriver, DriverOptions, Outcome, SeenEpisode, Verb } from './client-driver.js';

/** A case that every client of the swarm must pass, in every language. Each case has a client with a different name. */
export type ClientCase = {
  readonly name: string;
  readonly check: (bench: ClientBench) => Promise<void>;
};

export type ClientBench = {
  readonly client: ClientDriver;
  readonly open: (options?: Partial<DriverOptions>) => ClientDriver;
  /** The tasks, which are the same for all clients. */
  readonly tasks: readonly object[];
  /** The same tasks in the form of the protocol. */
  readonly rows: object;
};

async function ok(client: ClientDriver, verb: Verb, args: Arguments = {}): Promise<Readonly<Record<string, unknown>>> {
  const outcome = await client.ask(verb, args);
  if ('error' in outcome) throw new Error(`${client.name} ${verb}: ${outcome.error}`);
  return outcome.ok;
}

let numClaims = 0;
const newClaim = (): Arguments => ({ claim_id: `case-${numClaims++}`, wait_seconds: 10 });

async function claim(client: ClientDriver, request: Arguments = newClaim()): Promise<SeenEpisode> {
  const [episode] = (await ok(client, 'claim', request))['episodes'] as readonly SeenEpisode[];
  if (episode === undefined) throw new Error(`${client.name} got no episode.`);
  return episode;
}

const abandon = (client: ClientDriver, { episode_id }: SeenEpisode) => ok(client, 'abandon', { episode_id });
const codeOf = (outcome: Outcome): string =>
  'error' in outcome ? outcome.error : `none: ${JSON.stringify(outcome.ok)}`;

export const clientCases: readonly ClientCase[] = [
  {
    name: 'adds its tasks, and the server knows those that another client added in another language',
    check: async ({ client, tasks, rows }) => {
      const { length: total } = tasks;
      expect(await ok(client, 'add_tasks', { tasks, rows })).toEqual({ added: 0, known: total, total });
    },
  },
  {
    name: 'gets the same episode for a claim that it repeats',
    check: async ({ client }) => {
      const request = newClaim();
      const episode = await claim(client, request);
      const again = await claim(client, request);
      expect(again).toMatchObject({ episode_id: episode.episode_id, key: episode.key });
      await abandon(client, episode);
    },
  },
  {
    name: 'keeps its episodes alive, and learns which are gone',
    check: async ({ client }) => {
      const episode = await claim(client);
      const answer = await ok(client, 'heartbeat', { episodes: [episode.episode_id, 'never-was'] });
      expect(answer).toMatchObject({ renewed: [episode.episode_id], gone: [{ episode_id: 'never-was' }] });
      await abandon(client, episode);
    },
  },
  {
    name: 'talks to the model of its episode with the key of the episode, and with no other',
    check: async ({ client, open }) => {
      const episode = await claim(client);
      const { content } = await ok(client, 'chat', { episode, text: 'hello' });
      expect(typeof content).toBe('string');
      const stranger = open({ client: 'stranger' });
      const other = await claim(stranger);
      const refused = await client.ask('chat', { episode: { ...episode, key: other.key }, text: 'hello' });
      expect(codeOf(refused)).toMatch(/^(invalid_api_key|failed)$/);
      await abandon(stranger, other);
      await abandon(client, episode);
      await stranger.close();
    },
  },
  {
    name: 'gets one receipt however often it ends an episode, and none for another end',
    check: async ({ client }) => {
      const episode = await claim(client);
      await ok(client, 'chat', { episode, text: 'hello' });
      const end = { episode_id: episode.episode_id, reward: 0.5 };
      const receipt = await ok(client, 'end', end);
      expect(receipt).toMatchObject({ episode_id: episode.episode_id, status: 'completed' });
      expect(await ok(client, 'end', end)).toMatchObject({ episode_id: episode.episode_id, status: 'completed' });
      expect(codeOf(await client.ask('end', { ...end, reward: 1 }))).toBe('ended_differently');
    },
  },
  {
    name: 'cannot end an episode that it gave back',
    check: async ({ client }) => {
      const { episode_id } = await claim(client);
      expect(await ok(client, 'abandon', { episode_id })).toMatchObject({ episode_id, state: 'dropped' });
      expect(codeOf(await client.ask('end', { episode_id, reward: 1 }))).toBe('gone');
    },
  },
  {
    name: 'cannot report a reward that is not a number, and the episode is untouched',
    check: async ({ client }) => {
      const episode = await claim(client);
      const { episode_id } = episode;
      expect(codeOf(await client.ask('end', { episode_id, reward: Number.NaN }))).toMatch(
        /^(invalid_json|invalid_request|ValueError: .*)$/,
      );
      expect(await ok(client, 'heartbeat', { episodes: [episode_id] })).toMatchObject({ renewed: [episode_id] });
      await abandon(client, episode);
    },
  },
  {
    name: 'gives everything back when it leaves',
    check: async ({ client }) => {
      const { episode_id } = await claim(client);
      expect(await ok(client, 'heartbeat', { episodes: [], leaving: true })).toMatchObject({ gone: [{ episode_id }] });
      expect(codeOf(await client.ask('end', { episode_id, reward: 1 }))).toBe('gone');
    },
  },
  {
    name: 'is refused with a key that the server does not know',
    check: async ({ open }) => {
      const client = open({ key: 'ajk_worker_0_0', client: 'forger' });
      expect(codeOf(await client.ask('server', {}))).toBe('unknown_key');
      await client.close();
    },
  },
];

/** Cases for a server with several models. */
export const policyCases: readonly ClientCase[] = [
  {
    name: 'learns which targets each policy has',
    check: async ({ client }) => {
      const episode = await claim(client);
      expect(episode.policies).toEqual({ solving: ['solver', 'second'], checking: ['critic'] });
      await abandon(client, episode);
    },
  },
  {
    name: 'talks to agents of all policies, and rewards them by policy or by target',
    check: async ({ client }) => {
      for (const rewards of [
        { solving: 1, checking: 0 },
        { solver: 1, second: 0, critic: 0.5 },
      ]) {
        const episode = await claim(client);
        for (const agent of ['solver', 'second', 'critic']) await ok(client, 'chat', { episode, text: 'hello', agent });
        const end = { episode_id: episode.episode_id, rewards };
        expect(await ok(client, 'end', end)).toMatchObject({ status: 'completed', state: 'pooled' });
        expect(await ok(client, 'end', end)).toMatchObject({ status: 'completed' });
        const other = await client.ask('end', { ...end, rewards: { ...rewards, checking: -1 } });
        expect(codeOf(other)).toBe('ended_differently');
      }
    },
  },
  {
    name: 'cannot reward what no policy has, and the episode is untouched',
    check: async ({ client }) => {
      const episode = await claim(client);
      const { episode_id } = episode;
      expect(codeOf(await client.ask('end', { episode_id, rewards: { solvr: 1 } }))).toBe('invalid_request');
      expect(await ok(client, 'end', { episode_id, rewards: { solver: 1 } })).toMatchObject({ state: 'pooled' });
    },
  },
  {
    name: 'cannot talk to an agent of no policy',
    check: async ({ client }) => {
      const episode = await claim(client);
      const refused = await client.ask('chat', { episode, text: 'hello', agent: 'stranger' });
      expect(codeOf(refused)).toMatch(/^(target_not_trained|failed)$/);
      await abandon(client, episode);
    },
  },
];
