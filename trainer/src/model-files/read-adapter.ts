import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isJsonObject, type JsonObject, parseJsonObject } from '@agentjet/core';
import { badFile, readTensorEntries, readTensorInto, type TensorEntry } from './safetensors.js';

/** A low-rank adapter (Hu et al. 2021) in the layout of peft: adapter_config.json and adapter_model.safetensors. */
export type Adapter = AdapterScale & {
  /** The model that the adapter belongs to: a folder, or a name on the hub. Null if peft did not know its name. */
  readonly baseModel: string | null;
  /** Maps the name of a tensor to its change: W + scale B A, with A [rank, in] and B [out, rank]. */
  readonly changes: ReadonlyMap<string, { readonly a: TensorEntry; readonly b: TensorEntry }>;
};

/** How much of B A an adapter adds. */
type AdapterScale = {
  /** The factor of B A. */
  readonly scale: number;
  /** The value of `lora.alpha` that gives this scale. */
  readonly alpha: number;
  /** Whether alpha is divided by the root of the rank (`use_rslora`), and not by the rank. */
  readonly isRootScaled: boolean;
};

export const adapterConfigFile = 'adapter_config.json';
export const adapterWeightsFile = 'adapter_model.safetensors';
/** peft wraps the model twice, so the names of its tensors begin with this. */
export const adapterPrefix = 'base_model.model.';

/**
 * If one of these settings has a value other than false, empty or null, the adapter computes more than W + scale B A.
 * The same applies to every setting whose name begins with `use_`, so that a new one of peft is not ignored.
 */
const unsupported = [
  'fan_in_fan_out',
  'modules_to_save',
  'rank_pattern',
  'alpha_pattern',
  'lora_bias',
  'megatron_config',
  'trainable_token_indices',
  'alora_invocation_tokens',
  'layer_replication',
  'target_parameters',
  'arrow_config',
  'kasa_config',
  'monteclora_config',
];

/** Values of `init_lora_weights` with which peft also changes W, so that the adapter belongs to other weights. */
const changesBase = /^(pissa|olora|corda|loftq|lora_ga)/i;

/**
 * Returns undefined if the folder has no adapter. Rejects with BackboneError `bad_model_files` for an adapter that
 * cannot be merged here.
 */
export async function readAdapter(dir: string): Promise<Adapter | undefined> {
  const config = readAdapterConfig(dir);
  if (config === undefined) return undefined;
  const file = path.join(dir, adapterConfigFile);
  const { peft_type: type, base_model_name_or_path: baseModel } = config;
  if (type !== 'LORA') throw badFile(file, `"peft_type" is ${JSON.stringify(type)}; only LORA can be merged here`);
  const odd = findUnsupported(config);
  if (odd !== undefined) throw badFile(file, `"${odd}" is set, which only peft itself can merge`);
  const { init_lora_weights: initial } = config;
  if (typeof initial === 'string' && changesBase.test(initial))
    throw badFile(
      file,
      `"init_lora_weights" is ${JSON.stringify(initial)}, so the adapter belongs to weights that peft has changed. Save it with peft's save_pretrained and its option path_initial_model_for_weight_conversion, which makes an adapter of the model's own weights`,
    );
  const { r: rank } = config;
  const scale = scaleOf(config);
  if (scale === undefined || typeof rank !== 'number') throw badFile(file, '"r" or "lora_alpha" is missing');
  if (!Number.isInteger(rank) || rank < 1) throw badFile(file, `"r" is ${rank}; a rank is a whole number above 0`);
  return {
    baseModel: typeof baseModel === 'string' && baseModel !== '' ? baseModel : null,
    ...scale,
    changes: await readChanges(path.join(dir, adapterWeightsFile), rank),
  };
}

/** Fills `destination` with a matrix of an adapter. Rejects with BackboneError `bad_model_files` for NaN and infinity. */
export async function readMatrix(entry: TensorEntry, destination: Float32Array): Promise<void> {
  await readTensorInto(entry, destination);
  const broken = destination.find((value) => !Number.isFinite(value));
  if (broken !== undefined)
    throw badFile(
      entry.file,
      `tensor "${entry.name}" contains ${broken}, so the training that wrote it has failed. Use an earlier checkpoint`,
    );
}

/**
 * Returns undefined if the folder has no adapter, or one without a rank or an alpha. Throws BackboneError
 * `bad_model_files`.
 */
export function readAdapterScale(dir: string): AdapterScale | undefined {
  const config = readAdapterConfig(dir);
  return config && scaleOf(config);
}

function readAdapterConfig(dir: string): JsonObject | undefined {
  const file = path.join(dir, adapterConfigFile);
  if (!existsSync(file)) return undefined;
  const config = parseJsonObject(readFileSync(file, 'utf8'));
  if (config === undefined) throw badFile(file, 'it is not a JSON object');
  return config;
}

function scaleOf({ r: rank, lora_alpha: alpha, use_rslora: rootScaled }: JsonObject): AdapterScale | undefined {
  if (typeof rank !== 'number' || typeof alpha !== 'number') return undefined;
  const root = Math.sqrt(rank);
  return rootScaled === true
    ? { scale: alpha / root, alpha: alpha * root, isRootScaled: true }
    : { scale: alpha / rank, alpha, isRootScaled: false };
}

function findUnsupported(config: JsonObject): string | undefined {
  const isUse = (name: string): boolean => name.startsWith('use_') && name !== 'use_rslora';
  const named = Object.keys(config).find(
    (name) => (unsupported.includes(name) || isUse(name)) && !isAbsent(config, name),
  );
  return named ?? ((config['bias'] ?? 'none') === 'none' ? undefined : 'bias');
}

function isAbsent(config: JsonObject, name: string): boolean {
  const value = config[name];
  const isEmpty =
    (Array.isArray(value) && value.length === 0) || (isJsonObject(value) && Object.keys(value).length === 0);
  return value === undefined || value === null || value === false || isEmpty;
}

async function readChanges(file: string, rank: number): Promise<Adapter['changes']> {
  const isPickled = !existsSync(file) && existsSync(file.replace(/\.safetensors$/, '.bin'));
  if (isPickled) throw badFile(file, 'only adapter_model.bin is there. Save the adapter again as safetensors');
  const entries = new Map((await readTensorEntries(file)).map((entry) => [entry.name, entry]));
  if (entries.size === 0) throw badFile(file, 'it has no tensors, so the adapter would change nothing');
  const changes = new Map<string, { readonly a: TensorEntry; readonly b: TensorEntry }>();
  for (const name of entries.keys()) {
    const module = name.replace(/\.lora_[AB]\.weight$/, '');
    const [a, b] = ['A', 'B'].map((half) => entries.get(`${module}.lora_${half}.weight`));
    if (module === name || a?.shape.length !== 2 || b?.shape.length !== 2)
      throw badFile(file, `tensor "${name}" is not half of a pair lora_A.weight and lora_B.weight of a linear layer`);
    if (a.shape[0] !== rank || b.shape[1] !== rank)
      throw badFile(
        file,
        `the pair of "${name}" has rank ${a.shape[0]} (lora_A) and ${b.shape[1]} (lora_B), but "r" in ${adapterConfigFile} is ${rank}. Copy both files from the same adapter`,
      );
    changes.set(`${module.startsWith(adapterPrefix) ? module.slice(adapterPrefix.length) : module}.weight`, { a, b });
  }
  return changes;
}
