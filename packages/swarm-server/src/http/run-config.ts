import {
  camelKeys,
  isJsonObject,
  mergeJson,
  nestAtKey,
  toSnakeCase,
  toErrorMessage,
  type CommonConfig,
  type ConfigComposition,
  type JsonObject,
} from '@agentjet/core';
import { requireCollection, requireOwnKey } from '../served/policy-configs.js';
import { WireError } from '@agentjet/swarm-wire';

/** The changes that clients may make to the configuration of an open run. */
export type RunConfig = {
  /** The name of the run. */
  readonly run: string;
  /**
   * Throws WireError `other_run` if the value of a key differs from that of the open run, and `unknown_config` for an
   * unknown key.
   */
  readonly requireSame: (config: Readonly<Record<string, unknown>>) => void;
  /** Throws WireError `unknown_config`, `needs_reload` or `needs_new_run` unless every key may change between two steps. */
  readonly requireChangeable: (changes: Readonly<Record<string, unknown>>) => void;
};

/** Used by a server whose trainer has no configuration. */
export const anyConfig: RunConfig = { run: '', requireSame: () => {}, requireChangeable: () => {} };

/** A change of one of these keys takes effect at the next step, or for groups that are opened later. */
const changeable = new Set([
  'data.train_batch_size',
  'rollout.num_repeat',
  'trainer_common.optim.lr',
  'trainer_common.optim.weight_decay',
  'trainer_common.optim.grad_clip',
  'trainer_common.save_freq',
  'trainer_common.test_freq',
  'swarm.share_mode',
  'swarm.sample_collection',
]);

/**
 * To change one of these keys, stop the server, change its YAML file, and start it again from its newest checkpoint.
 */
const reloadable = /^(rollout|onnx|torch|trainer_common\.(max_checkpoints|keep_best|total_|val_|logger|optim\.))/;

/** Keys that name code. The code runs at the clients. */
const clientSide = /^(rollout\.user_workflow|task_reader|task_judge)(\.|$)/;

export function createRunConfig<Config extends CommonConfig>(
  run: string,
  config: Config,
  composition: ConfigComposition<Config>,
): RunConfig {
  const withChanges = (changes: JsonObject): Config => {
    try {
      return composition.create(mergeJson(config, camelKeys(changes)) as Parameters<typeof composition.create>[0]);
    } catch (error) {
      throw new WireError('unknown_config', toErrorMessage(error).replace(' in the options given in code', ''));
    }
  };
  return {
    run,
    requireSame: (given) => {
      refuseClientKeys(given);
      const differences = composition.compare(config, withChanges(given as JsonObject));
      const [first] = differences;
      if (first === undefined) return;
      throw new WireError(
        'other_run',
        `The run ${run} is open with ${first.key} ${JSON.stringify(first.before)}, not ${JSON.stringify(first.after)}. Leave the key out, or start a server for another run.`,
      );
    },
    requireChangeable: (changes) => {
      for (const [key, value] of Object.entries(changes)) {
        if (clientSide.test(key)) throw clientKey(key);
        const own = ownKey(key, config);
        const changed = withChanges(nestAtKey(own, value));
        if (own.endsWith('trainer_common.optim.lr') && typeof value !== 'number')
          throw new WireError('unknown_config', `${key} is ${JSON.stringify(value)}. Name the rate as a number.`);
        if (!changeable.has(own)) throw notNow(own);
        if (Object.keys(config.swarm.policies).length > 0) requireCollectionOfSeveral(changed);
      }
    },
  };
}

/**
 * Removes `swarm.policies.<name>.` from a key that sets a value for one policy. Throws WireError `unknown_config` if
 * the policy does not exist.
 */
function ownKey(key: string, { swarm }: CommonConfig): string {
  const [, policy, own] = /^swarm\.policies\.([a-z0-9_]+)\.(.+)$/.exec(key) ?? [];
  if (policy === undefined || own === undefined) return key;
  const names = Object.keys(swarm.policies).map(toSnakeCase);
  if (names.includes(policy)) {
    asUnknownConfig(() => requireOwnKey(policy, own));
    return own;
  }
  throw new WireError('unknown_config', `There is no policy "${policy}" here; there is ${names.join(', ') || 'none'}.`);
}

const requireCollectionOfSeveral = ({ swarm }: CommonConfig): void =>
  asUnknownConfig(() => requireCollection(swarm.sampleCollection));

function asUnknownConfig(check: () => void): void {
  try {
    check();
  } catch (error) {
    throw new WireError('unknown_config', toErrorMessage(error));
  }
}

/** Throws WireError `unknown_config` if a key names code, because code runs only at the clients. */
export function refuseClientKeys(given: Readonly<Record<string, unknown>>): void {
  const [code] = flatten(given).filter(([key]) => clientSide.test(key));
  if (code !== undefined) throw clientKey(code[0]);
}

function notNow(key: string): WireError {
  return reloadable.test(key)
    ? new WireError(
        'needs_reload',
        `${key} cannot change while the model is open. Stop the server, change its YAML file and start it again. On a server with --standby, end the run and begin it again by its name.`,
      )
    : new WireError('needs_new_run', `${key} cannot change within a run. Begin a new one: ajet swarm serve --new.`);
}

const clientKey = (key: string): WireError =>
  new WireError('unknown_config', `${key} belongs to the clients: a server takes no code. Leave it out.`);

function flatten(value: unknown, path = ''): readonly (readonly [string, unknown])[] {
  if (!isJsonObject(value)) return [[path, value]];
  return Object.entries(value).flatMap(([name, inner]) => flatten(inner, path === '' ? name : `${path}.${name}`));
}
