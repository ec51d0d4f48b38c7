import { isJsonObject, type JsonObject, textOrEmpty } from '@agentjet/core';
import type { SwarmClientView, SwarmShareView, SwarmView } from '../wire.js';
import { readRemote, type Remote } from './read-remote.js';

/** The maximum number of episodes in a request. */
const maxListed = 1000;

/**
 * Returns the state that a swarm server reports, and the number of its listed episodes by client. Fields that the
 * server does not send are left out, because servers of other versions send other fields.
 */
export async function viewSwarm(remote: Remote): Promise<SwarmView> {
  const server = await readRemote(remote, '/swarm/v1/server');
  if ('problem' in server) return { url: remote.url, problem: server.problem };
  const listed = await readRemote(remote, `/swarm/v1/episodes?limit=${maxListed}`);
  const episodes = 'value' in listed ? objectsOf(listed.value['episodes']) : [];
  const { shares, policies, account, dropped_by_reason: dropped, problem, ...rest } = server.value;
  return {
    url: remote.url,
    ...(typeof problem === 'string' && { training: problem }),
    facts: Object.entries(rest).flatMap(([name, value]) =>
      typeof value === 'number' || typeof value === 'string' ? [[name, value] as const] : [],
    ),
    account: toCounts(account),
    dropped: toCounts(dropped),
    shares: namedObjects(shares).map(toShare),
    policies: namedObjects(policies).map(([name, policy]) => ({
      name,
      state: textOrEmpty(policy['state']),
      step: numberOf(policy['step']),
      pooled: numberOf(policy['groups_pooled']),
      waitSeconds: numberOf(policy['gate_wait_seconds']),
      ...(typeof policy['problem'] === 'string' && { problem: policy['problem'] }),
    })),
    clients: countByClient(episodes),
    ...('problem' in listed && { episodesProblem: listed.problem }),
    waits: sayWaits(server.value),
  };
}

/** Says what the next step waits for, as far as the server's figures show it. */
function sayWaits(server: JsonObject): readonly string[] {
  const [pooled, open, running, capacity] = ['groups_pooled', 'groups_open', 'running', 'capacity'].map((name) =>
    numberOf(server[name]),
  );
  const state = textOrEmpty(server['state']);
  return [
    ...(state === 'rolling' ? [] : [`The server is ${state === '' ? 'in an unknown state' : state}.`]),
    ...(pooled === null || open === null
      ? []
      : [`Complete groups that wait for the step: ${pooled}. Groups that are being sampled: ${open}.`]),
    ...(running === null || capacity === null ? [] : [`${running} of ${capacity} places are used.`]),
    ...namedObjects(server['shares']).flatMap(([name, share]) =>
      share['idle'] === true ? [`No client works for the share ${name}.`] : [],
    ),
  ];
}

function toShare([name, share]: readonly [string, JsonObject]): SwarmShareView {
  return {
    name,
    part: numberOf(share['part']),
    asked: numberOf(share['asked']),
    got: numberOf(share['got']),
    tasks: numberOf(share['tasks']),
    inFlight: numberOf(share['in_flight']),
    trained: numberOf(share['trained']),
    isIdle: share['idle'] === true,
  };
}

function countByClient(episodes: readonly JsonObject[]): readonly SwarmClientView[] {
  const clients = new Map<string, Record<string, number>>();
  for (const { client, state } of episodes) {
    const name = textOrEmpty(client) || 'unknown';
    const counts = clients.get(name) ?? {};
    counts[textOrEmpty(state)] = (counts[textOrEmpty(state)] ?? 0) + 1;
    clients.set(name, counts);
  }
  return [...clients].map(([name, states]) => ({ name, states }));
}

const objectsOf = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);

const namedObjects = (value: unknown): readonly (readonly [string, JsonObject])[] =>
  Object.entries(isJsonObject(value) ? value : {}).flatMap(([name, each]) =>
    isJsonObject(each) ? [[name, each] as const] : [],
  );

const toCounts = (value: unknown): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(isJsonObject(value) ? value : {}).flatMap(([name, count]) =>
      typeof count === 'number' ? [[name, count] as const] : [],
    ),
  );

const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);
