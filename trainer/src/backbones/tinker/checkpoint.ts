/**
 * Saves checkpoints of a remote model. A checkpoint is a local folder with the downloaded files, and the path on the
 * server of the optimizer and all other state.
 */

import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { BackboneError, parseJsonObject, tellOlderFormat } from '@agentjet/core';
import { describeFileError, writeDirAtomically } from '@agentjet/run-folder';
import { exportModel } from '../../model-files/export-model.js';
import { copyCompanions } from '../../model-files/model-folder.js';
import { adapterConfigFile, adapterWeightsFile } from '../../model-files/read-adapter.js';
import { readModelConfig } from '../../model-files/read-model-config.js';
import { readTensorEntries } from '../../model-files/safetensors.js';
import { readArchive } from './read-archive.js';
import type { RemoteModel } from './remote-model.js';
import { RefusedError } from './tinker-errors.js';

export type TinkerState = {
  /** The server's path of weights and optimizer. */
  readonly path: string;
  readonly policyVersion: number;
  /** The folder of the model that the server's adapter belongs to. */
  readonly baseDir: string;
};

export type CheckpointKind = 'adapter' | 'merged';

export type TinkerCheckpoint = {
  readonly model: RemoteModel;
  /** The path of the weights on the server. */
  readonly name: string;
  /** The model folder whose config and tokenizer the checkpoint gets. */
  readonly modelDir: string;
  readonly baseDir: string;
  /**
   * Merges an adapter into the weights of `baseDir`. If the server trains all weights, they are downloaded unchanged.
   */
  readonly isMerged: boolean;
  readonly state: TinkerState;
  notice(message: string): void;
};

type Files = ReadonlyMap<string, Buffer>;

const stateFile = path.join('trainer_state', 'tinker.json');

/**
 * Writes the tokenizer of the model folder, the adapter or weights that the server serves, and the path of its state.
 * Without an adapter it also writes the model's config. Rejects with BackboneError `checkpoint`, or as a request does.
 */
export async function saveTinkerCheckpoint(dir: string, checkpoint: TinkerCheckpoint): Promise<void> {
  const files = await download(checkpoint);
  try {
    await writeDirAtomically(dir, async (temporary) => {
      if (checkpoint.isMerged && files.has(adapterConfigFile)) await writeMerged(temporary, files, checkpoint);
      else await writeAsTheyAre(temporary, files, checkpoint);
      await mkdir(path.join(temporary, path.dirname(stateFile)), { recursive: true });
      await writeFile(path.join(temporary, stateFile), `${JSON.stringify(checkpoint.state, null, 2)}\n`);
    });
  } catch (error) {
    if (error instanceof BackboneError) throw error;
    throw new BackboneError('checkpoint', describeFileError(path.resolve(dir), error, 'another folder'), {
      cause: error,
    });
  }
}

type Folders = Pick<TinkerCheckpoint, 'modelDir' | 'baseDir'>;

async function writeAsTheyAre(dir: string, files: Files, { modelDir, baseDir }: Folders): Promise<void> {
  await copyCompanions(modelDir, dir);
  if (!files.has(adapterConfigFile))
    await writeFile(path.join(dir, 'config.json'), JSON.stringify(await readModelConfig(modelDir), null, 2));
  for (const [name, content] of files) await writeFile(path.join(dir, name), content);
  await completeAdapterConfig(dir, baseDir);
}

async function writeMerged(dir: string, files: Files, folders: Folders): Promise<void> {
  const scratch = await mkdtemp(path.join(tmpdir(), 'agentjet-adapter-'));
  try {
    await writeAsTheyAre(scratch, files, folders);
    await exportModel(scratch, dir, { baseDir: folders.baseDir });
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** The statuses by which servers say that they do not serve weights. */
const withheld = [403, 404, 405, 410, 501];

/**
 * If the server does not serve weights, the checkpoint contains only their path. It can be loaded on that server, but
 * no other program can open it.
 */
async function download({ model, name, state, isMerged, notice }: TinkerCheckpoint): Promise<Files> {
  try {
    const files = readArchive(await model.download(name));
    return new Map([...files].filter(([file]) => /^adapter_config\.json$|\.safetensors(\.index\.json)?$/.test(file)));
  } catch (error) {
    if (!(error instanceof RefusedError) || !withheld.includes(error.status)) throw error;
    const kept = `the weights stay on the server, at ${state.path} (${error.message})`;
    if (!isMerged) notice(`tinker: ${kept}.`);
    if (!isMerged) return new Map();
    throw new BackboneError(
      'checkpoint',
      `A merged checkpoint cannot be written: ${kept}. Set tinker.checkpoint to adapter.`,
      { cause: error },
    );
  }
}

/**
 * Completes the adapter's config with the local folder of its model and the modules that it changes. SkyRL names no
 * modules. peft would then use its default modules for the kind of model, and ignore the weights of all others.
 */
async function completeAdapterConfig(dir: string, baseDir: string): Promise<void> {
  const file = path.join(dir, adapterConfigFile);
  const config = existsSync(file) ? parseJsonObject(await readFile(file, 'utf8')) : undefined;
  if (config === undefined) return;
  const modules = config['target_modules'] ?? (await findModules(path.join(dir, adapterWeightsFile)));
  const complete = { ...config, base_model_name_or_path: path.resolve(baseDir), target_modules: modules };
  await writeFile(file, `${JSON.stringify(complete, null, 2)}\n`);
}

/** peft names a module by the last part of its path, such as `q_proj`. */
async function findModules(file: string): Promise<readonly string[]> {
  const names = (await readTensorEntries(file)).flatMap(
    ({ name }) => /([^.]+)\.lora_[AB]\.weight$/.exec(name)?.[1] ?? [],
  );
  return [...new Set(names)].sort();
}

/**
 * Reads where the state of a model folder is on the server. Returns undefined if the folder is not a checkpoint of this
 * backbone.
 */
export async function findTinkerState(dir: string): Promise<TinkerState | undefined> {
  return existsSync(path.join(dir, stateFile)) ? await readTinkerState(dir) : undefined;
}

/**
 * Rejects with BackboneError `bad_model_files` if the folder is not a checkpoint of this backbone, and with
 * `older_format` for one of an older version.
 */
export async function readTinkerState(dir: string): Promise<TinkerState> {
  const file = path.join(dir, stateFile);
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new BackboneError('bad_model_files', `${file} cannot be read. Load a folder that this backbone saved.`, {
      cause,
    });
  });
  const { path: weights, policyVersion, baseDir } = parseJsonObject(text) ?? {};
  if (typeof weights !== 'string' || typeof policyVersion !== 'number')
    throw new BackboneError('bad_model_files', `${file} has no "path" or no "policyVersion".`);
  if (typeof baseDir !== 'string') throw new BackboneError('older_format', tellOlderFormat(`The checkpoint ${dir}`));
  return { path: weights, policyVersion, baseDir };
}
