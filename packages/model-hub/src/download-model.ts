import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError } from '@agentjet/core';
import { cacheFolderOf, findCachedModel, type CachedModel } from './cached-model.js';
import { getFiles, makeCacheFolder, writeRef, type DownloadProgress, type SnapshotJob } from './fill-snapshot.js';
import { describeModel, type HubClient, type HubModel } from './hub-client.js';
import { readHubSettings, type HubSettings } from './hub-settings.js';
import {
  chooseDescription,
  chooseWeights,
  indexFile,
  optionalFiles,
  readShardNames,
  type HubFile,
} from './model-files.js';
import { showModelName, type ModelName } from './model-name.js';

export type DownloadOptions = {
  /** Default: from the environment. */
  readonly settings?: HubSettings;
  /** False gets only the small files that describe the model. Default: true. */
  readonly withWeights?: boolean;
  /** True asks the hub for the newest commit even if the model is in the cache. */
  readonly isRefresh?: boolean;
  /** An abort keeps the downloaded bytes, and the next call continues from there. */
  readonly signal?: AbortSignal;
  /** Called often, but only if there is something to download. */
  readonly onProgress?: (progress: DownloadProgress) => void;
  readonly onNotice?: (message: string) => void;
  /** The pause before the second attempt of a request. Default: 500. */
  readonly pauseMs?: number;
};

type Job = SnapshotJob & { readonly options: DownloadOptions };

/**
 * Returns the model's folder in the cache. Asks the hub only for files that the cache lacks. Rejects with BackboneError
 * `model_not_found`, `model_gated`, `hub_unreachable`, `hub_offline`, `bad_model_files`, `disk_full` or `checksum`.
 */
export async function downloadModel(name: ModelName, options: DownloadOptions = {}): Promise<CachedModel> {
  const { settings = readHubSettings(), withWeights = true, signal, pauseMs = 500 } = options;
  const cached = await findCachedModel(settings, name);
  const isEnough = cached !== undefined && (cached.hasWeights || !withWeights);
  if (isEnough && (settings.isOffline || (cached.isWhole && options.isRefresh !== true))) return cached;
  if (settings.isOffline) throw offline(settings, name);
  const client: HubClient = { settings, signal, pauseMs };
  const model = await describeModel(client, name);
  const folder = cacheFolderOf(settings, name.id);
  await download({ client, name, folder, model, options });
  const found = await findCachedModel(settings, name);
  if (found === undefined) throw new Error(`The download of ${name.id} ended without a model.`);
  return found;
}

function offline({ cacheDir }: HubSettings, name: ModelName): BackboneError {
  return new BackboneError(
    'hub_offline',
    `${showModelName(name)} is not in ${cacheDir}, and HF_HUB_OFFLINE forbids downloading it. Unset it, or download the model elsewhere and copy the cache.`,
  );
}

async function download(job: Job): Promise<void> {
  const { folder, model, name, options } = job;
  const { withWeights = true } = options;
  const id = showModelName(name);
  const description = chooseDescription(id, model.files);
  const weights = withWeights ? chooseWeights(id, model.files) : undefined;
  await makeCacheFolder(path.dirname(folder.blob('x')));
  await makeCacheFolder(folder.snapshot(model.commit));
  await getFiles(job, description);
  for (const file of optionalFiles)
    if (!description.some(({ path: known }) => known === file)) await markAbsent(job, file);
  if (weights?.path === indexFile) {
    await getFiles(job, [weights]);
    const index = await readFile(path.join(folder.snapshot(model.commit), indexFile), 'utf8');
    await getFiles(job, shardsOf(id, model, readShardNames(id, index)));
  } else if (weights !== undefined) await getFiles(job, [weights]);
  if (name.revision !== model.commit) await writeRef(job);
}

function shardsOf(id: string, { files }: HubModel, names: readonly string[]): readonly HubFile[] {
  return names.map((name) => {
    const file = files.find(({ path: known }) => known === name);
    if (file !== undefined) return file;
    throw new BackboneError('bad_model_files', `${indexFile} of ${id} names ${name}, which the repository lacks.`);
  });
}

async function markAbsent({ folder, model }: Job, file: string): Promise<void> {
  const marker = folder.absent(model.commit, file);
  await makeCacheFolder(path.dirname(marker));
  await writeFile(marker, '');
}
