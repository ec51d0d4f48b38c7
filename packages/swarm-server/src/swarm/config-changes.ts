import { collections, type Collection, type LedgerState } from '@agentjet/ledger';

/** Keys of the configuration that may be changed while a swarm runs, as they are now: the newest change of each holds. */
export type ConfigChanges = {
  readonly data: { readonly train_batch_size?: number };
  readonly rollout: { readonly num_repeat?: number };
  readonly trainer_common: { readonly save_freq?: number; readonly test_freq?: number };
  readonly swarm: { readonly share_mode?: 'strict' | 'elastic'; readonly sample_collection?: Collection };
};

/** Changes by their dotted keys, such as `trainer_common.optim.lr`. */
export function changedKeys({ configs }: Pick<LedgerState, 'configs'>): Readonly<Record<string, unknown>> {
  return Object.assign({}, ...configs.map(({ changes }) => changes)) as Readonly<Record<string, unknown>>;
}

export function changesOf(state: Pick<LedgerState, 'configs'>): ConfigChanges {
  const changes = changedKeys(state);
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
  const found = collections.find((each) => each === name);
  return found === undefined ? {} : { sample_collection: found };
}
