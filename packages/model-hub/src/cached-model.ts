import { access, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { HubSettings } from './hub-settings.js';
import { indexFile, optionalFiles, readShardNames, requiredFiles, weightsFile } from './model-files.js';
import type { ModelName } from './model-name.js';

/**
 * The cache in the layout of Hugging Face's programs, so one download serves all of them: `models--<org>--<name>` with
 * `blobs/<etag>`, `snapshots/<commit>/<file>` (links to blobs), `refs/<revision>` (a commit), and
 * `.no_exist/<commit>/<file>` for a file that is known to be missing in the commit.
 */

/** The folder of a model in the cache. */
export type CacheFolder = {
  readonly dir: string;
  blob(etag: string): string;
  snapshot(commit: string): string;
  ref(revision: string): string;
  absent(commit: string, file: string): string;
};

export type CachedModel = ModelName & {
  readonly commit: string;
  /** The snapshot: a folder in the layout of transformers. */
  readonly dir: string;
  readonly hasWeights: boolean;
  /**
   * Whether each file that a model may have is here or is known not to exist. False if another program downloaded only
   * some of them.
   */
  readonly isWhole: boolean;
};

export function cacheFolderOf(
  { cacheDir }: Pick<HubSettings, 'cacheDir'>,
  id: string,
  kind?: ModelName['kind'],
): CacheFolder {
  const dir = path.join(cacheDir, `${kind ?? 'model'}s--${id.replace('/', '--')}`);
  return {
    dir,
    blob: (etag) => path.join(dir, 'blobs', etag),
    snapshot: (commit) => path.join(dir, 'snapshots', commit),
    ref: (revision) => path.join(dir, 'refs', ...revision.split('/')),
    absent: (commit, file) => path.join(dir, '.no_exist', commit, file),
  };
}

/** Returns the model in the cache. Undefined if it was never downloaded, or lacks config.json or tokenizer.json. */
export async function findCachedModel(
  settings: Pick<HubSettings, 'cacheDir'>,
  name: ModelName,
): Promise<CachedModel | undefined> {
  const folder = cacheFolderOf(settings, name.id);
  const commit = await readCommit(folder, name.revision);
  if (commit === undefined) return undefined;
  const dir = folder.snapshot(commit);
  const isHere = (file: string): Promise<boolean> => isPresent(path.join(dir, file));
  for (const file of requiredFiles) if (!(await isHere(file))) return undefined;
  let isWhole = true;
  for (const file of optionalFiles) isWhole &&= (await isHere(file)) || (await isPresent(folder.absent(commit, file)));
  return { ...name, commit, dir, hasWeights: await hasWeights(name.id, dir), isWhole };
}

/** Lists every model of the cache that can be opened, by name. */
export async function listCachedModels(settings: Pick<HubSettings, 'cacheDir'>): Promise<readonly CachedModel[]> {
  const found: CachedModel[] = [];
  for (const entry of (await readNames(settings.cacheDir)).sort()) {
    const [kind, ...parts] = entry.split('--');
    if (kind !== 'models' || parts.length !== 2) continue;
    const id = parts.join('/');
    for (const revision of await readRevisions(cacheFolderOf(settings, id))) {
      const model = await findCachedModel(settings, { id, revision });
      if (model !== undefined) found.push(model);
    }
  }
  return found;
}

/** Lists the model's branches and tags, and the commits that were requested by their own names. */
async function readRevisions(folder: CacheFolder): Promise<readonly string[]> {
  const refs = await readRefs(folder);
  const named = await Promise.all(refs.map((ref) => readCommit(folder, ref)));
  const commits = (await readNames(path.join(folder.dir, 'snapshots'))).filter((name) => commitPattern.test(name));
  return [...refs, ...commits.filter((commit) => !named.includes(commit)).sort()];
}

async function readRefs({ dir }: CacheFolder): Promise<readonly string[]> {
  const names = await readdir(path.join(dir, 'refs'), { withFileTypes: true, recursive: true }).catch(() => []);
  return names
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(path.join(dir, 'refs'), path.join(entry.parentPath, entry.name)))
    .map((name) => name.split(path.sep).join('/'))
    .sort();
}

const commitPattern = /^[0-9a-f]{40}$/;

/** Returns the commit that a revision had when it was downloaded. Undefined if it was never downloaded. */
export async function readCommit(folder: CacheFolder, revision: string): Promise<string | undefined> {
  if (commitPattern.test(revision)) return revision;
  const commit = (await readFile(folder.ref(revision), 'utf8').catch(() => '')).trim();
  return /^\w+$/.test(commit) ? commit : undefined;
}

async function hasWeights(id: string, dir: string): Promise<boolean> {
  if (await isPresent(path.join(dir, weightsFile))) return true;
  const index = await readFile(path.join(dir, indexFile), 'utf8').catch(() => undefined);
  if (index === undefined) return false;
  try {
    const shards = await Promise.all(readShardNames(id, index).map((shard) => isPresent(path.join(dir, shard))));
    return shards.every(Boolean);
  } catch {
    return false; // the download reports a broken index
  }
}

/** Sums the sizes of the files of a snapshot, in bytes. */
export async function sizeOfSnapshot(dir: string): Promise<number> {
  const sizes = (await readNames(dir)).map(async (name) => (await stat(path.join(dir, name))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

async function readNames(dir: string): Promise<string[]> {
  return readdir(dir).catch(() => []);
}

/** Whether the file exists. A link to a blob that was removed does not count. */
export async function isPresent(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
