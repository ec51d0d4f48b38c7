import { existsSync } from 'node:fs';
import { nanoModelDir } from '@agentjet/nano';
import { microModelDir } from '@agentjet/micro';
import {
  downloadModel,
  listCachedModels,
  namedModels,
  parseModelName,
  readHubSettings,
  sizeOfSnapshot,
  type CachedModel,
} from '@agentjet/model-hub';
import { ConfigError, isBundledModel, type JsonObject, type BundledModel } from '@agentjet/core';
import { readModelSource } from '@agentjet/run-folder';
import { tellDownload } from './tell-download.js';
import { describeModelSource } from './describe-model-source.js';
import { parseNamedModel } from './parse-named-model.js';
import { findNamedModel, resolveNamedModel } from './resolve-named-model.js';

export type KnownModel = {
  /** The value for `model.path`. */
  readonly name: string;
  /** Null for a model that is included in the package. */
  readonly commit: string | null;
  readonly dir: string;
  readonly bytes: number;
  /** False if only its small files were downloaded. */
  readonly hasWeights: boolean;
  /** The source of its weights. Null for a model that is included in the package. */
  readonly source: JsonObject | null;
};

export type KnownModels = { readonly cacheDir: string; readonly models: readonly KnownModel[] };

/** The models that are included in the package, and those in the cache of the hub. */
export async function listModels(): Promise<KnownModels> {
  const settings = readHubSettings();
  const bundled = await Promise.all(
    Object.entries(bundledModelDirs).map(async ([name, dir]): Promise<KnownModel> => {
      return { name, commit: null, dir, bytes: await sizeOfSnapshot(dir), hasWeights: true, source: null };
    }),
  );
  const cached = await Promise.all((await listCachedModels(settings)).map(toKnownModel));
  return { cacheDir: settings.cacheDir, models: [...bundled, ...(await listNamedModels()), ...cached] };
}

async function listNamedModels(): Promise<readonly KnownModel[]> {
  const found: KnownModel[] = [];
  for (const model of namedModels) {
    const dir = await findNamedModel({ model, source: undefined });
    if (dir !== undefined) found.push(await describeNamed(model.name, dir));
  }
  return found;
}

export type GetModelOptions = { readonly signal?: AbortSignal; readonly onNotice: (message: string) => void };

/**
 * Downloads the missing files of the newest commit, or gets a model with a short name from one of its sources. Rejects
 * as `downloadModel` and `resolveNamedModel` do, and with ConfigError if the string is not a name.
 */
export async function getModel(text: string, options: GetModelOptions): Promise<KnownModel> {
  const model = await download(text, options);
  if (model.source !== null) options.onNotice(describeModelSource(text, model.source));
  return model;
}

async function download(text: string, options: GetModelOptions): Promise<KnownModel> {
  if (isBundledModel(text))
    throw new ConfigError('wrong_value', `${text} is included in agentjet, so there is nothing to download.`);
  const isRefresh = !readHubSettings().isOffline;
  const named = parseNamedModel(text);
  if (named !== undefined) return describeNamed(text, await resolveNamedModel(named, { ...options, isRefresh }));
  const name = parseModelName(text);
  if (name === undefined) throw notAName(text);
  const onProgress = tellDownload(text, options.onNotice);
  return toKnownModel(await downloadModel(name, { ...options, isRefresh, onProgress }));
}

function notAName(text: string): ConfigError {
  return new ConfigError(
    'wrong_value',
    `${JSON.stringify(text)} is not the name of a model on the hub. Such a name has two parts, as Qwen/Qwen2.5-0.5B-Instruct, and may end in @revision. The short names are ${namedModels.map((each) => each.name).join(', ')}.`,
  );
}

/**
 * Returns whether a value for `model.path` is a path, or a name. Asks no server, and the path need not exist. Throws
 * ConfigError if it can be neither.
 */
export function kindOfModel(text: string): 'path' | 'name' {
  const isName = isBundledModel(text) || parseNamedModel(text) !== undefined;
  if (isName) return 'name';
  if (existsSync(text)) return 'path';
  if (parseModelName(text) !== undefined) return 'name';
  if (/[\\/]|^[.~]/.test(text)) return 'path';
  throw notAName(text);
}

async function toKnownModel({ id, revision, commit, dir, hasWeights }: CachedModel): Promise<KnownModel> {
  const name = revision === 'main' ? id : `${id}@${revision}`;
  const source = (await readModelSource(dir)) ?? null;
  return { name, commit, dir, bytes: await sizeOfSnapshot(dir), hasWeights, source };
}

async function describeNamed(name: string, dir: string): Promise<KnownModel> {
  const source = (await readModelSource(dir)) ?? null;
  const commit = typeof source?.['commit'] === 'string' ? source['commit'] : null;
  return { name, commit, dir, bytes: await sizeOfSnapshot(dir), hasWeights: true, source };
}

/** The folder of the included models. */
export const bundledModelDirs: { readonly [name in BundledModel]: string } = {
  nano: nanoModelDir,
  micro: microModelDir,
};
