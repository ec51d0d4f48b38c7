import {
  downloadModel,
  listCachedModels,
  parseModelName,
  readHubSettings,
  sizeOfSnapshot,
  type CachedModel,
} from '@agentjet/model-hub';
import { ConfigError, isBundledModel } from '@agentjet/core';
import { bundledModelDirs } from '../policy/bundled-models.js';
import { tellDownload } from '../policy/tell-download.js';

export type KnownModel = {
  /** What `model.path` takes. */
  readonly name: string;
  /** Null for a model that comes along. */
  readonly commit: string | null;
  readonly dir: string;
  readonly bytes: number;
  /** False: only its small files were downloaded. */
  readonly hasWeights: boolean;
};

export type KnownModels = { readonly cacheDir: string; readonly models: readonly KnownModel[] };

/** The models that come along, and what the cache of the hub holds. */
export async function listModels(): Promise<KnownModels> {
  const settings = readHubSettings();
  const bundled = await Promise.all(
    Object.entries(bundledModelDirs).map(async ([name, dir]): Promise<KnownModel> => {
      return { name, commit: null, dir, bytes: await sizeOfSnapshot(dir), hasWeights: true };
    }),
  );
  const cached = await Promise.all((await listCachedModels(settings)).map(toKnownModel));
  return { cacheDir: settings.cacheDir, models: [...bundled, ...cached] };
}

export type GetModelOptions = { readonly signal?: AbortSignal; readonly onNotice: (message: string) => void };

/** Downloads what is missing of the newest commit. Rejects as `downloadModel` does, and with ConfigError for what is not a name. */
export async function getModel(text: string, { signal, onNotice }: GetModelOptions): Promise<KnownModel> {
  const name = parseModelName(text);
  if (isBundledModel(text))
    throw new ConfigError('wrong_value', `${text} comes along with agentjet: there is nothing to download.`);
  if (name === undefined)
    throw new ConfigError(
      'wrong_value',
      `${JSON.stringify(text)} is not the name of a model on the hub. It has two parts, as Qwen/Qwen2.5-0.5B-Instruct, and may end in @revision.`,
    );
  const onProgress = tellDownload(text, onNotice);
  const isRefresh = !readHubSettings().isOffline;
  return toKnownModel(await downloadModel(name, { isRefresh, onNotice, onProgress, ...(signal && { signal }) }));
}

async function toKnownModel({ id, revision, commit, dir, hasWeights }: CachedModel): Promise<KnownModel> {
  const name = revision === 'main' ? id : `${id}@${revision}`;
  return { name, commit, dir, bytes: await sizeOfSnapshot(dir), hasWeights };
}
