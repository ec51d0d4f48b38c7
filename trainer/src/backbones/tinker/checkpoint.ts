/** Checkpoints of a remote model: a local folder with what came home, and where the server keeps the rest. */

import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError, parseJsonObject, toErrorMessage } from '@agentjet/core';
import { describeFileError, writeDirAtomically } from '@agentjet/run-folder';
import { copyCompanions } from '../../model-files/model-folder.js';
import { readArchive } from './read-archive.js';
import type { RemoteModel } from './remote-model.js';

export type TinkerState = {
  /** As the server names weights and optimizer. */
  readonly path: string;
  readonly policyVersion: number;
};

export type TinkerCheckpoint = {
  readonly model: RemoteModel;
  /** Of the weights on the server. */
  readonly name: string;
  readonly modelDir: string;
  readonly state: TinkerState;
  notice(message: string): void;
};

const stateFile = path.join('trainer_state', 'tinker.json');

/**
 * Writes config and tokenizer of the model folder, the adapter or weights that the server hands out, and the path of its
 * state. Rejects with BackboneError `checkpoint`.
 */
export async function saveTinkerCheckpoint(dir: string, checkpoint: TinkerCheckpoint): Promise<void> {
  const files = await download(checkpoint);
  try {
    await writeDirAtomically(dir, async (temporary) => {
      await copyCompanions(checkpoint.modelDir, temporary);
      await copyFile(path.join(checkpoint.modelDir, 'config.json'), path.join(temporary, 'config.json'));
      for (const [name, content] of files)
        await writeFile(path.join(temporary, name), withBaseModel(name, content, checkpoint.modelDir));
      await mkdir(path.join(temporary, path.dirname(stateFile)), { recursive: true });
      await writeFile(path.join(temporary, stateFile), `${JSON.stringify(checkpoint.state, null, 2)}\n`);
    });
  } catch (error) {
    throw new BackboneError('checkpoint', describeFileError(path.resolve(dir), error, 'another folder'), {
      cause: error,
    });
  }
}

/** Weights that the server does not hand out stay there: the checkpoint can be loaded, but not opened elsewhere. */
async function download({ model, name, state, notice }: TinkerCheckpoint): Promise<ReadonlyMap<string, Buffer>> {
  try {
    const files = readArchive(await model.download(name));
    return new Map([...files].filter(([file]) => /^adapter_config\.json$|\.safetensors(\.index\.json)?$/.test(file)));
  } catch (error) {
    if (error instanceof BackboneError && error.code === 'closed') throw error;
    notice(`tinker: the weights stay on the server, at ${state.path}: ${toErrorMessage(error)}`);
    return new Map();
  }
}

/** An adapter names the model it belongs to: the local one, so that transformers opens the folder. */
function withBaseModel(name: string, content: Buffer, modelDir: string): Buffer | string {
  const config = name === 'adapter_config.json' ? parseJsonObject(content.toString('utf8')) : undefined;
  if (config === undefined) return content;
  return `${JSON.stringify({ ...config, base_model_name_or_path: path.resolve(modelDir) }, null, 2)}\n`;
}

/** Rejects with BackboneError `bad_model_files` if the folder is not a checkpoint of this backbone. */
export async function readTinkerState(dir: string): Promise<TinkerState> {
  const file = path.join(dir, stateFile);
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new BackboneError('bad_model_files', `${file} cannot be read. Load a folder that this backbone saved.`, {
      cause,
    });
  });
  const { path: weights, policyVersion } = parseJsonObject(text) ?? {};
  if (typeof weights !== 'string' || typeof policyVersion !== 'number')
    throw new BackboneError('bad_model_files', `${file} does not say "path" and "policyVersion".`);
  return { path: weights, policyVersion };
}
