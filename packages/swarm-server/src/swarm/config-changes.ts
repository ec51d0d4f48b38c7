import type { Collection } from '@agentjet/ledger';
import { toCollection } from './collection-names.js';
import type { SwarmContext } from './swarm-context.js';

/** The current values of keys that may be changed while a swarm runs. The newest change of each key applies. */
export type ConfigChanges = {
  readonly data: { readonly train_batch_size?: number };
  readonly rollout: { readonly num_repeat?: number };
  readonly trainer_common: { readonly save_freq?: number; readonly test_freq?: number };
  readonly swarm: { readonly share_mode?: 'strict' | 'elastic'; readonly sample_collection?: Collection };
};

type OfPolicy = Pick<SwarmContext, 'ledger' | 'policy'>;

/**
 * Changes by their dotted keys, such as `trainer_common.optim.lr`. With several policies, changes for one policy take
 * precedence over changes for all: `swarm.policies.planner.trainer_common.optim.lr`.
 */
export function changedKeys({ ledger, policy }: OfPolicy): Readonly<Record<string, unknown>> {
  const { configs } = ledger.state;
  const all = Object.assign({}, ...configs.map(({ changes }) => changes)) as Readonly<Record<string, unknown>>;
  const prefix = `${policiesKey}.${policy}.`;
  const own = Object.entries(all).filter(([key]) => key.startsWith(prefix));
  return { ...all, ...Object.fromEntries(own.map(([key, value]) => [key.slice(prefix.length), value])) };
}

/** The configuration key of the policies. */
const policiesKey = 'swarm.policies';

/** Returns the changes of a policy. Every claim needs them, so they are cached until the next change. */
export function changesOf({ ledger, policy }: OfPolicy): ConfigChanges {
  const { configs } = ledger.state;
  const ofAll = read.get(configs) ?? new Map<string, ReadChanges>();
  read.set(configs, ofAll);
  const known = ofAll.get(policy);
  if (known !== undefined && known.newest === configs.at(-1)) return known.changes;
  const changes = readChanges({ ledger, policy });
  ofAll.set(policy, { newest: configs.at(-1), changes });
  return changes;
}

type Configs = SwarmContext['ledger']['state']['configs'];
type ReadChanges = { readonly newest: Configs[number] | undefined; readonly changes: ConfigChanges };
/** The changes by policy. */
const read = new WeakMap<Configs, Map<string, ReadChanges>>();

function readChanges(context: OfPolicy): ConfigChanges {
  const changes = changedKeys(context);
  const count = (key: string) => (typeof changes[key] === 'number' ? { [key.split('.')[1] ?? '']: changes[key] } : {});
  return {
    data: count('data.train_batch_size'),
    rollout: count('rollout.num_repeat'),
    trainer_common: { ...count('trainer_common.save_freq'), ...count('trainer_common.test_freq') },
    swarm: { ...modeOf(changes['swarm.share_mode']), ...collectionOf(changes['swarm.sample_collection']) },
  };
}

const modeOf = (mode: unknown): ConfigChanges['swarm'] =>
  mode === 'strict' || mode === 'elastic' ? { share_mode: mode } : {};

function collectionOf(name: unknown): ConfigChanges['swarm'] {
  const found = toCollection(name);
  return found === undefined ? {} : { sample_collection: found };
}
