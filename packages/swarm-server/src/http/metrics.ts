import { Gauge, Registry } from 'prom-client';
import { serverStates } from '@agentjet/swarm-wire';
import { describeProgress } from '../swarm/describe-progress.js';
import type { Swarm } from '../swarm/swarm.js';
import type { SwarmContext } from '../swarm/swarm-context.js';
import { freeBytesOf, type Telemetry } from './telemetry.js';

/** Returns the metrics of a swarm in the text format of Prometheus, with its content type. */
export async function renderMetrics(
  swarm: Swarm,
  telemetry: Telemetry,
  disks: Readonly<Record<string, string>> = {},
): Promise<{ readonly text: string; readonly contentType: string }> {
  const registry = new Registry();
  const gauge = createGauge(registry);
  addServer(swarm, gauge);
  addShares(swarm, gauge);
  addPolicies(swarm.context.policies, gauge);
  addDisks(swarm.context, await freeBytesOf(disks), gauge);
  const all = Registry.merge([telemetry.registry, registry]);
  return { text: await all.metrics(), contentType: all.contentType };
}

/** Adds a gauge with one value per label, or with one value. */
type AddGauge = (name: string, help: string, values: number | Readonly<Record<string, number>>, label?: string) => void;

const createGauge =
  (registry: Registry): AddGauge =>
  (name, help, values, label) => {
    const labelNames = label === undefined ? [] : [label];
    const gauge = new Gauge({ name: `agentjet_swarm_${name}`, help, labelNames, registers: [registry] });
    if (typeof values === 'number') gauge.set(values);
    else
      for (const [key, value] of Object.entries(values)) gauge.set(label === undefined ? {} : { [label]: key }, value);
  };

function addServer(swarm: Swarm, gauge: AddGauge): void {
  const { account, dropped_by_reason: dropped, state, uptime_seconds, clients, ...counts } = swarm.describe();
  for (const [name, help] of Object.entries(helps)) gauge(name, help, counts[name as keyof typeof helps]);
  gauge('episodes', 'Episodes by their state', account, 'fate');
  gauge('episodes_dropped', 'Acknowledged episodes that were dropped', dropped, 'reason');
  const states = Object.fromEntries(serverStates.map((each) => [each, Number(each === state)]));
  gauge('state', 'What the server is doing: 1 for its state, 0 for all others', states, 'state');
  gauge('clients', 'Clients that were heard of lately', clients ?? 0);
  gauge('uptime_seconds', 'Time since the server began to serve the run', uptime_seconds ?? 0);
  gauge(
    'gate_wait_seconds',
    'Total time that model calls have waited for new weights or the end of a pause',
    swarm.context.policies.reduce((sum, { gate }) => sum + gate.waitedMs, 0) / 1000,
  );
  gauge('rss_bytes', 'Memory of the server', process.memoryUsage.rss());
}

function addShares(swarm: Swarm, gauge: AddGauge): void {
  const { shares = {} } = swarm.describe();
  for (const [field, [name, help]] of Object.entries(shareHelps)) {
    const values = Object.entries(shares).map(([share, found]) => [share, found[field as keyof typeof shareHelps]]);
    gauge(name, help, Object.fromEntries(values) as Readonly<Record<string, number>>, 'share');
  }
}

function addPolicies(policies: readonly SwarmContext[], gauge: AddGauge): void {
  const rows = policies.map((context) => [context.policy, describePolicy(context)] as const);
  for (const [name, help] of Object.entries(policyHelps)) {
    const values = rows.flatMap(([policy, found]) => {
      const value = found[name as keyof typeof policyHelps];
      return value === undefined ? [] : [[policy, value] as const];
    });
    gauge(name, help, Object.fromEntries(values), 'policy');
  }
}

function describePolicy(context: SwarmContext): Readonly<Record<keyof typeof policyHelps, number | undefined>> {
  const { ledger, policy, policies, line, weights, gate, health } = context;
  const { trained, dropped } = policies.length === 1 ? ledger.account : ledger.accountOf(policy);
  const { waits_for: waits, places, newest_step: newest } = describeProgress(context);
  return {
    policy_step: line.step,
    policy_version: Math.max(0, weights.version),
    policy_incarnation: line.incarnation,
    policy_trained: trained,
    policy_dropped: dropped,
    policy_groups_pooled: ledger.of(policy).flight.trainable.size,
    policy_gate_wait_seconds: gate.waitedMs / 1000,
    policy_failed: Number(health.problem !== undefined || weights.phase === 'failed'),
    policy_wait_seconds: waits?.since_seconds,
    policy_places_filled: places?.filled,
    policy_places: places?.total,
    policy_reward: newest?.reward,
    policy_success: newest?.success,
    policy_step_age_seconds: newest?.age_seconds,
  };
}

function addDisks({ store }: SwarmContext, free: Readonly<Record<string, number>>, gauge: AddGauge): void {
  gauge('disk_free_bytes', 'Free space on the disks of the ledger and of the run folder', free, 'disk');
  gauge(
    'store_bytes',
    'Size of the ledger',
    store.files().reduce((sum, { bytes }) => sum + bytes, 0),
  );
  gauge('store_has_room', 'Whether the disk has room for new episodes and calls', Number(store.hasRoom()));
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

const shareHelps = {
  part: ['share_part', 'Part of each share in the next batch'],
  asked: ['share_batch_asked', 'Groups of each share that the newest batch should have had'],
  got: ['share_batch_got', 'Groups of each share that the newest batch had'],
  trained: ['share_groups_trained', 'Groups of each share that were trained'],
  lent: ['share_places_lent', 'Places of each share that were given to others'],
  in_flight: ['share_groups_in_flight', 'Groups of each share that are sampled or pooled'],
} as const;

const policyHelps = {
  policy_step: 'Steps that each policy has decided',
  policy_version: 'Version of the weights with which each policy answers',
  policy_incarnation: 'Incarnation of each policy',
  policy_trained: 'Episodes that each policy has trained',
  policy_dropped: 'Acknowledged episodes that each policy has dropped',
  policy_groups_pooled: 'Groups that wait for the step of each policy',
  policy_gate_wait_seconds: 'How long calls have waited for the weights of each policy',
  policy_failed: 'Whether the training of each policy has stopped after a failure',
  policy_wait_seconds: 'How long each policy has waited for the same thing, which GET /server names',
  policy_places_filled: 'Places of the next batch of each policy that have an episode',
  policy_places: 'Places of the next batch of each policy',
  policy_reward: 'Mean reward of the newest step of each policy',
  policy_success: 'Share of the episodes of the newest step of each policy that succeeded',
  policy_step_age_seconds: 'Time since the newest step of each policy, if this process made it',
} as const;
