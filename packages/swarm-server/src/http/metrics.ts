import { Gauge, Registry } from 'prom-client';
import type { Swarm } from '../swarm/swarm.js';

/** Returns the state of a swarm in the text format of Prometheus. */
export async function renderMetrics(swarm: Swarm): Promise<string> {
  const registry = new Registry();
  const { account, dropped_by_reason: dropped, state, shares = {}, policies = {}, ...counts } = swarm.describe();
  const gauge = (name: string, help: string, values: Readonly<Record<string, number>>, label?: string): void => {
    const labelNames = label === undefined ? [] : [label];
    const made = new Gauge({ name: `agentjet_swarm_${name}`, help, labelNames, registers: [registry] });
    for (const [key, value] of Object.entries(values)) made.set(label === undefined ? {} : { [label]: key }, value);
  };
  for (const [name, help] of Object.entries(helps)) gauge(name, help, { '': counts[name as keyof typeof helps] });
  gauge('episodes', 'Episodes by their state', account, 'fate');
  gauge('episodes_dropped', 'Acknowledged episodes that were dropped', dropped, 'reason');
  const ofShares = (
    field: 'part' | 'asked' | 'got' | 'trained' | 'lent' | 'in_flight',
  ): Readonly<Record<string, number>> =>
    Object.fromEntries(Object.entries(shares).map(([share, found]) => [share, found[field]]));
  gauge('share_part', 'Part of each share in the next batch', ofShares('part'), 'share');
  gauge('share_batch_asked', 'Groups of each share that the newest batch should have had', ofShares('asked'), 'share');
  gauge('share_batch_got', 'Groups of each share that the newest batch had', ofShares('got'), 'share');
  gauge('share_groups_trained', 'Groups of each share that were trained', ofShares('trained'), 'share');
  gauge('share_places_lent', 'Places of each share that were given to others', ofShares('lent'), 'share');
  gauge('share_groups_in_flight', 'Groups of each share that are sampled or pooled', ofShares('in_flight'), 'share');
  const ofPolicies = (read: (policy: (typeof policies)[string]) => number): Readonly<Record<string, number>> =>
    Object.fromEntries(Object.entries(policies).map(([policy, found]) => [policy, read(found)]));
  gauge(
    'policy_step',
    'Steps that each policy has decided',
    ofPolicies(({ step }) => step),
    'policy',
  );
  gauge(
    'policy_version',
    'Version of the weights with which each policy answers',
    ofPolicies(({ version }) => version),
    'policy',
  );
  gauge(
    'policy_incarnation',
    'Incarnation of each policy',
    ofPolicies(({ incarnation }) => incarnation),
    'policy',
  );
  gauge(
    'policy_trained',
    'Episodes that each policy has trained',
    ofPolicies(({ account: own }) => own['trained'] ?? 0),
    'policy',
  );
  gauge(
    'policy_dropped',
    'Acknowledged episodes that each policy has dropped',
    ofPolicies(({ account: own }) => own['dropped'] ?? 0),
    'policy',
  );
  gauge(
    'policy_groups_pooled',
    'Groups that wait for the step of each policy',
    ofPolicies((found) => found.groups_pooled),
    'policy',
  );
  gauge(
    'policy_gate_wait_seconds',
    'How long calls have waited for the weights of each policy',
    ofPolicies((found) => found.gate_wait_seconds),
    'policy',
  );
  gauge('state', 'What the server is doing', { [state]: 1 }, 'state');
  gauge('gate_wait_seconds', 'Total time that model calls have waited for new weights or the end of a pause', {
    '': swarm.context.policies.reduce((sum, { gate }) => sum + gate.waitedMs, 0) / 1000,
  });
  gauge('rss_bytes', 'Memory of the server', { '': process.memoryUsage.rss() });
  return registry.metrics();
}

const helps = {
  step: 'Steps decided',
  version: 'Version of the weights that answer calls',
  incarnation: 'How often weights were computed again and may differ from earlier weights of the same version',
  groups_open: 'Groups that are sampled',
  groups_pooled: 'Groups that wait for their step',
  running: 'Episodes that run',
  capacity: 'Episodes that may run',
  config_revision: 'Revision of the configuration',
  tasks: 'Tasks in the tables',
} as const;
