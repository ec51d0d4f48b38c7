import { AgentJetError } from '@agentjet/core';
import { createRemoteModel, SwarmClient, systemClientHost } from '@agentjet/swarm-client';
import type { Arguments, ClientDriver, DriverOptions, Outcome, SeenEpisode, Verb } from './client-driver.js';

export function createTypeScriptDriver({ url, key, client }: DriverOptions): ClientDriver {
  const swarm = new SwarmClient({ url, key, client });
  const life = `life-${client}`;
  const verbs: Readonly<Record<Verb, (args: Arguments) => Promise<object>>> = {
    server: () => swarm.server(),
    add_tasks: ({ tasks }) => swarm.addTasks(tasks as Parameters<SwarmClient['addTasks']>[0]),
    claim: ({ claim_id, wait_seconds }) =>
      swarm.claim({
        claim_id: String(claim_id),
        client,
        life,
        can: ['default'],
        count: 1,
        purpose: 'any',
        revision: '',
        lease_seconds: 60,
        wait_seconds: Number(wait_seconds),
      }),
    heartbeat: ({ episodes, leaving }) =>
      swarm.heartbeat({ client, life, episodes: episodes as string[], leaving: leaving === true }),
    end: ({ episode_id, reward = null, rewards }) =>
      swarm.end(String(episode_id), {
        client,
        status: 'completed',
        reward: reward as number | null,
        ...(rewards !== undefined && { rewards: rewards as Record<string, number> }),
        is_success: null,
        metadata: {},
        log_metrics: {},
      }),
    abandon: ({ episode_id }) => swarm.abandon(String(episode_id)),
    chat: async ({ episode, text, agent = 'solver' }) => {
      const { base_url: root, key: episodeKey, model: name } = episode as SeenEpisode;
      const address = `${root}/${String(agent)}/v1`;
      const model = createRemoteModel({ host: systemClientHost, fetch, address, key: episodeKey, name });
      const { message } = await model.generate({ messages: [{ role: 'user', content: String(text) }] });
      return { content: message.content };
    },
  };
  const ask = async (verb: Verb, args: Arguments): Promise<Outcome> => {
    try {
      return { ok: { ...(await verbs[verb](args)) } };
    } catch (error) {
      return { error: error instanceof AgentJetError ? error.code : String(error) };
    }
  };
  return { name: 'TypeScript', ask, close: async () => undefined };
}
