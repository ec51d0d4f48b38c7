import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError, parseJsonObject, replaceFile } from '@agentjet/core';
import type { DownloadOptions } from './download-model.js';
import { cacheFolderOf, isPresent, readCommit, type CacheFolder } from './cached-model.js';
import { getFiles, makeCacheFolder, writeRef } from './fill-snapshot.js';
import { describeModel, type HubClient, type HubModel } from './hub-client.js';
import { readHubSettings, type HubSettings } from './hub-settings.js';
import { showModelName, type ModelName } from './model-name.js';

/**
 * Gets the files of a data set that a caller chooses from the list of all paths. The list of a commit is kept next to
 * its snapshot, so the next run knows without a request whether it has every file that it needs.
 */

export type DatasetOptions = Omit<DownloadOptions, 'withWeights' | 'isRefresh'> & {
  /**
   * A branch, a tag or a commit. Undefined means the hub's own Parquet files, or the repository's files if there are
   * none.
   */
  readonly revision?: string | undefined;
  /** Chooses the needed files from all paths. It may throw. */
  readonly choose: (paths: readonly string[]) => readonly string[];
};

export type DatasetFiles = {
  readonly commit: string;
  readonly revision: string;
  /** The folder of the snapshot. */
  readonly dir: string;
  /** The chosen paths below `dir`. */
  readonly paths: readonly string[];
};

/** The branch that holds the hub's Parquet copy of most data sets. */
const parquetBranch = 'refs/convert/parquet';

/**
 * Returns the chosen files in the cache. Asks the hub only if the cache lacks one of them. Rejects with BackboneError
 * as `downloadModel` does, also with `revision_not_found`, and with the errors of `choose`.
 */
export async function downloadDataset(name: ModelName, options: DatasetOptions): Promise<DatasetFiles> {
  const settings = options.settings ?? readHubSettings();
  const revisions = options.revision === undefined ? [parquetBranch, 'main'] : [options.revision];
  const named = revisions.map((revision): ModelName => ({ kind: 'dataset', id: name.id, revision }));
  for (const each of named) {
    const cached = await findCached(settings, each, options);
    if (cached !== undefined) return cached;
  }
  if (settings.isOffline) throw offline(settings, name);
  const client: HubClient = { settings, signal: options.signal, pauseMs: options.pauseMs ?? 500 };
  for (const [at, each] of named.entries()) {
    const model = await describeModel(client, each).catch((error: unknown) => {
      const isLast = at === named.length - 1;
      if (!isLast && error instanceof BackboneError && error.code.endsWith('_not_found')) return undefined;
      throw error;
    });
    if (model !== undefined) return download(client, { name: each, model, options });
  }
  throw new Error('One of the revisions is the last.');
}

async function download(
  client: HubClient,
  { name, model, options }: { readonly name: ModelName; readonly model: HubModel; readonly options: DatasetOptions },
): Promise<DatasetFiles> {
  const paths = options.choose(model.files.map(({ path: file }) => file));
  const folder = cacheFolderOf(client.settings, name.id, 'dataset');
  const dir = folder.snapshot(model.commit);
  await makeCacheFolder(path.dirname(folder.blob('x')));
  await makeCacheFolder(dir);
  await keepList(folder, model);
  const files = model.files.filter(({ path: file }) => paths.includes(file));
  await getFiles({ client, name, folder, model, options }, files);
  if (name.revision !== model.commit) await writeRef({ client, name, folder, model, options });
  return { commit: model.commit, revision: name.revision, dir, paths };
}

/** Returns the files in the cache. Undefined if a file is missing, or if this is not known. */
async function findCached(
  settings: HubSettings,
  name: ModelName,
  { choose }: DatasetOptions,
): Promise<DatasetFiles | undefined> {
  const folder = cacheFolderOf(settings, name.id, 'dataset');
  const commit = await readCommit(folder, name.revision);
  if (commit === undefined || !(await isPresent(folder.snapshot(commit)))) return undefined;
  const dir = folder.snapshot(commit);
  const listed = await readList(folder, commit);
  const paths = chooseKnown(listed ?? (await listFiles(dir)), choose, settings.isOffline || listed !== undefined);
  if (paths === undefined || (listed === undefined && !hasAllShards(paths))) return undefined;
  const found = await Promise.all(paths.map((file) => isPresent(path.join(dir, ...file.split('/')))));
  return found.every(Boolean) ? { commit, revision: name.revision, dir, paths } : undefined;
}

/**
 * Another program may have downloaded only a part of the data set. Then only the hub knows whether a choice is wrong.
 */
function chooseKnown(
  paths: readonly string[],
  choose: DatasetOptions['choose'],
  isCertain: boolean,
): readonly string[] | undefined {
  try {
    return choose(paths);
  } catch (error) {
    if (isCertain) throw error;
    return undefined;
  }
}

/** Whether all shards such as `train-00000-of-00003` are there. Names without a count are taken as complete. */
function hasAllShards(paths: readonly string[]): boolean {
  const groups = new Map<string, number>();
  for (const file of paths) {
    const [, start, count] = /^(.*)-\d{5}-of-(\d{5})/.exec(file) ?? [];
    if (start === undefined) continue;
    const group = `${start} ${count}`;
    groups.set(group, (groups.get(group) ?? 0) + 1);
  }
  return [...groups].every(([group, found]) => Number(group.split(' ').at(-1)) === found);
}

const listFile = (folder: CacheFolder, commit: string): string => path.join(folder.dir, '.agentjet', `${commit}.json`);

async function keepList(folder: CacheFolder, { commit, files }: HubModel): Promise<void> {
  const file = listFile(folder, commit);
  await makeCacheFolder(path.dirname(file));
  await replaceFile(file, JSON.stringify({ paths: files.map(({ path: each }) => each) }));
}

async function readList(folder: CacheFolder, commit: string): Promise<readonly string[] | undefined> {
  const text = await readFile(listFile(folder, commit), 'utf8').catch(() => '');
  const paths: unknown = parseJsonObject(text)?.['paths'];
  return Array.isArray(paths) && paths.every((each) => typeof each === 'string') ? paths : undefined;
}

function offline({ cacheDir }: HubSettings, name: ModelName): BackboneError {
  return new BackboneError(
    'hub_offline',
    `Not all of the data set ${showModelName(name)} is in ${cacheDir}, and it must not be downloaded (offline, HF_HUB_OFFLINE). Allow it once, or download the data set elsewhere and copy the cache.`,
  );
}

/** Lists all files below a folder, sorted, with slashes on every platform. */
export async function listFiles(dir: string): Promise<readonly string[]> {
  const entries = await readdir(dir, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.relative(dir, path.join(entry.parentPath, entry.name)).split(path.sep).join('/'))
    .sort();
}
