import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { BackboneError, isJsonObject, type Backbone, type OptimizerOptions } from '@agentjet/core';
import { readModelConfig } from '../../model-files/read-model-config.js';
import { idleOptimizer } from '../idle-optimizer.js';
import { describeStart } from './describe-start.js';
import { findTinkerState, type CheckpointKind } from './checkpoint.js';
import { LiveModel, type TinkerParts } from './live-model.js';
import { findProfile, type Profile, type ProfileName } from './profiles.js';
import { checkSeam, type Seam } from './seam-check.js';
import { isMovedToo } from './sign-check.js';
import { TinkerBackbone } from './tinker-backbone.js';
import { TinkerClient, type TinkerClientOptions } from './tinker-client.js';
import { TinkerSession, type NewModel } from './tinker-session.js';

export type TinkerBackboneOptions = {
  /** null is the hosted service. */
  readonly baseUrl: string | null;
  /** null takes the environment variable TINKER_API_KEY, or no key. */
  readonly apiKey: string | null;
  /** The server's name of the model. null asks the server, which must then serve exactly one. */
  readonly baseModel: string | null;
  readonly profile: ProfileName;
  /** The rank of the adapter. 0 trains all weights, if the server can. */
  readonly rank: number;
  /** The folder with config.json and the tokenizer's files. */
  readonly modelDir: string;
  readonly seed: number;
  /** Without it, the backbone only samples. */
  readonly optimizer?: OptimizerOptions;
  /** The largest context. The server and the model may allow less. */
  readonly contextLength?: number;
  readonly keepStateEvery?: number;
  /** Set if training needs a KL estimate. A second model, which keeps the initial weights, is then created at once. */
  readonly usesKl?: boolean;
  /** `adapter` (default) saves the server's adapter; `merged` merges it into the weights of `modelDir`. */
  readonly checkpoint?: CheckpointKind;
  readonly notice?: (message: string) => void;
  /** Aborts the opening, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
} & Pick<TinkerClientOptions, 'patienceMs' | 'clock' | 'wire'>;

const hostedUrl = 'https://tinker.thinkingmachines.dev/services/tinker-prod';
/** If the server cannot be reached, opening fails within this time. */
const firstPatience = { patienceMs: 3000, limitMs: 5000 };

/**
 * Connects to a server with the Tinker API, checks what it trains, and makes a model on it. Rejects with BackboneError:
 * `unreachable`, `refused` (the key, a request), `bad_model_files`, `bad_request` (an option that this server ignores),
 * `wrong_gradient` (the server trains another loss than the requested one).
 */
export async function createTinkerBackbone(options: TinkerBackboneOptions): Promise<Backbone> {
  const { seed, rank, modelDir, optimizer, notice = () => undefined } = options;
  const profile = findProfile(options.profile, options.baseUrl);
  const baseUrl = options.baseUrl ?? hostedUrl;
  const local = await readLocalConfig(modelDir);
  const { baseDir, beginsFrom } = await findBeginning(modelDir, options.checkpoint);
  if (optimizer !== undefined)
    checkHonoured(profile, { maxGradNorm: optimizer.maxGradNorm, usesKl: options.usesKl === true });
  const apiKey = options.apiKey ?? process.env['TINKER_API_KEY'] ?? null;
  const { patienceMs, clock, wire = 'auto', signal } = options;
  signal?.throwIfAborted();
  const client = new TinkerClient({
    baseUrl,
    apiKey,
    wire: wire === 'auto' ? profile.wire : wire,
    ignoresNumbers: profile.ignoresNumbers,
    ...(patienceMs && { patienceMs }),
    ...(clock && { clock }),
  });
  const stop = () => client.close();
  signal?.addEventListener('abort', stop);
  try {
    const served = await findServedModel(client, options.baseModel);
    if (beginsFrom === null) checkServed(served.name, options);
    const newModel: NewModel = { baseModel: served.name, rank, seed, beginsFrom };
    const limits = [served.contextLength, local.contextLength, options.contextLength ?? Infinity];
    const seam = await openSeam(client, newModel, { ...options, ...local, profile });
    client.ignoresNumbers = profile.ignoresNumbers || (seam.ignoresNumbers ?? profile.name === 'auto');
    const runName = randomBytes(4).toString('hex');
    const parts: TinkerParts = {
      client,
      newModel,
      seam,
      optimizer: optimizer ?? idleOptimizer,
      contextLength: Math.min(...limits),
      vocabSize: local.vocabSize,
      modelDir,
      baseDir,
      keepStateEvery: options.keepStateEvery ?? 1,
      checkpoint: options.checkpoint ?? 'adapter',
      nameOf: (what) => `agentjet-${runName}-${what}`,
      notice,
    };
    notice(describeStart(baseUrl, profile, parts));
    const live = await openLive(parts, options);
    client.hasBegun = true;
    return new TinkerBackbone(parts, live);
  } catch (error) {
    client.close();
    throw signal?.aborted ? signal.reason : error;
  } finally {
    signal?.removeEventListener('abort', stop);
  }
}

type SeamOptions = Pick<TinkerBackboneOptions, 'optimizer' | 'rank'> & {
  readonly profile: Profile;
  readonly vocabSize: number;
};

async function openSeam(client: TinkerClient, newModel: NewModel, options: SeamOptions): Promise<Seam> {
  const { optimizer, vocabSize, profile } = options;
  if (optimizer === undefined) return { encoding: 'sums', isChecked: false, ignoresNumbers: null, moved: null };
  const session = await TinkerSession.open(client);
  const probe = await session.createBaseModel(newModel);
  try {
    const { name, needsNorm } = profile;
    return await checkSeam(probe, { vocabSize, needsNorm, profile: name, rates: ratesOf(options) });
  } finally {
    session.close();
    await probe.unload();
  }
}

/**
 * Returns the learning rates of the steps that show the sign of the gradient. An adapter needs larger rates. If the
 * server has only one model, the list is empty, because that model cannot be discarded.
 */
function ratesOf({ rank, profile }: SeamOptions): readonly number[] {
  if (profile.trains === 'all weights') return [];
  return rank === 0 ? [1e-6, 1e-5, 1e-4, 1e-3, 1e-2] : [1e-5, 1e-4, 1e-3, 1e-2];
}

/** Refuses options that the server cannot honour, before a batch is sampled. */
async function openLive(
  parts: TinkerParts,
  { usesKl = false }: Pick<TinkerBackboneOptions, 'usesKl'>,
): Promise<LiveModel> {
  const live = await LiveModel.open(parts, { path: null, version: 0 });
  try {
    await checkUnmoved(live, parts);
    if (usesKl) await live.openReference(parts);
    return live;
  } catch (error) {
    await live.close();
    throw error;
  }
}

/** Throws BackboneError `bad_request` if the new model has the weights that the check at start has changed. */
async function checkUnmoved({ model }: LiveModel, { seam: { moved }, newModel }: TinkerParts): Promise<void> {
  if (moved === null || newModel.beginsFrom !== null || !(await isMovedToo(moved, model))) return;
  throw new BackboneError(
    'bad_request',
    'The server has one model for all runs, and the check at start has changed its weights by a small step. Restart the server and set tinker.profile to verl, so the check makes no step.',
  );
}

/** Returns the path of the weights on the server if the model folder is a checkpoint of this backbone. */
async function findBeginning(
  modelDir: string,
  checkpoint: CheckpointKind | undefined,
): Promise<{ readonly baseDir: string; readonly beginsFrom: string | null }> {
  const state = await findTinkerState(modelDir);
  if (state === undefined) return { baseDir: path.resolve(modelDir), beginsFrom: null };
  const { baseDir } = state;
  if (checkpoint === 'merged') await readLocalConfig(baseDir);
  return { baseDir, beginsFrom: state.path };
}

function checkHonoured(
  { name, clips, trains }: Profile,
  { maxGradNorm, usesKl }: { readonly maxGradNorm: number; readonly usesKl: boolean },
): void {
  if (maxGradNorm > 0 && !clips)
    throw new BackboneError(
      'bad_request',
      `A ${name} server does not clip gradients, but trainer_common.optim.grad_clip is ${maxGradNorm}. Set it to 0.`,
    );
  if (usesKl && trains === 'all weights')
    throw new BackboneError(
      'bad_request',
      `A ${name} server has only one model, but a KL estimate needs a second model that keeps the initial weights. Set trainer_common.use_kl_loss to false.`,
    );
}

async function readLocalConfig(
  modelDir: string,
): Promise<{ readonly vocabSize: number; readonly contextLength: number }> {
  const config = await readModelConfig(modelDir);
  const size = config?.['vocab_size'];
  if (config === undefined || typeof size !== 'number')
    throw new BackboneError(
      'bad_model_files',
      `${path.join(modelDir, 'config.json')} cannot be read or has no "vocab_size". Set model.path to a local folder with the model's config and tokenizer.`,
    );
  const longest = config['max_position_embeddings'];
  return { vocabSize: size, contextLength: typeof longest === 'number' ? longest : Infinity };
}

type ServedModel = { readonly name: string; readonly contextLength: number };

async function findServedModel(client: TinkerClient, wanted: string | null): Promise<ServedModel> {
  const found = await client.get('get_server_capabilities', firstPatience);
  const list: readonly unknown[] = Array.isArray(found['supported_models']) ? found['supported_models'] : [];
  const models = list.flatMap((each) => (isJsonObject(each) ? [toServedModel(each)] : []));
  const names = models.map(({ name }) => name).join(', ') || 'none';
  if (wanted !== null) {
    const model = models.find(({ name }) => name === wanted);
    if (model !== undefined || models.length === 0) return model ?? { name: wanted, contextLength: Infinity };
    throw new BackboneError('bad_request', `The server has no model "${wanted}" (tinker.base_model); it has ${names}.`);
  }
  const [only, ...others] = models;
  if (only !== undefined && others.length === 0) return only;
  throw new BackboneError('bad_request', `The server has ${names}. Set tinker.base_model to one of its models.`);
}

/**
 * Refuses a checkpoint of another backbone. Its weights are on this machine and not on the server, so the server would
 * begin with untrained weights.
 */
function checkServed(
  name: string,
  { modelDir, baseModel }: Pick<TinkerBackboneOptions, 'modelDir' | 'baseModel'>,
): void {
  const isOurs = existsSync(path.join(modelDir, 'trainer_state'));
  if (!isOurs || baseModel !== null || path.resolve(name) === path.resolve(modelDir)) return;
  throw new BackboneError(
    'bad_request',
    `model.path ${modelDir} is a checkpoint of another backbone. The server has only ${name}, without the training of the checkpoint. Continue with the backbone that saved the checkpoint. If the server has the trained weights, set tinker.base_model to their name.`,
  );
}

function toServedModel({
  model_name: name,
  max_context_length: longest,
}: Readonly<Record<string, unknown>>): ServedModel {
  return { name: String(name), contextLength: typeof longest === 'number' ? longest : Infinity };
}
