import type { ClientsAnswer } from '@agentjet/swarm-wire';
import type { SwarmContext } from './swarm-context.js';

/** Lists the present clients with their running episodes. */
export function listClients({ ledger, lives }: SwarmContext): ClientsAnswer {
  const running = new Map<string, number>();
  for (const { client } of ledger.running()) running.set(client, (running.get(client) ?? 0) + 1);
  const clients = lives.present().map(({ name, revision, shares, claims, keyName, silentMs }) => ({
    client: name,
    revision,
    shares: [...shares],
    running: running.get(name) ?? 0,
    claims_waiting: claims,
    silent_seconds: Math.round(silentMs / 100) / 10,
    ...(keyName !== undefined && { key: keyName }),
  }));
  return { clients };
}
