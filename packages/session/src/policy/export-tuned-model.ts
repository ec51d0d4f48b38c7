import { isBundledModel } from '@agentjet/core';
import { exportModel, readBaseModel, type ExportedModel } from '@agentjet/trainer';
import { findCheckpoint } from './find-checkpoint.js';
import { resolveModelDir } from './model-dir.js';

export type ExportModelOptions = {
  /** The model that an adapter belongs to, in place of the one that it names: a folder, or a name of the hub. */
  readonly base?: string;
  /** Told what takes long, such as the download of the base model. */
  readonly onNotice?: (message: string) => void;
};

/**
 * Writes what a run has trained as a plain model folder, a low-rank adapter merged into the weights.
 * @param dir a run folder (its last checkpoint), a checkpoint, any model folder, nano or micro
 * @throws BackboneError, as `findCheckpoint`, `resolveModelDir` and `exportModel` do
 */
export async function exportTunedModel(
  dir: string,
  target: string,
  options: ExportModelOptions = {},
): Promise<ExportedModel> {
  const { onNotice = () => undefined } = options;
  const found = await resolveModelDir(isBundledModel(dir) ? dir : await findCheckpoint(dir, onNotice), { onNotice });
  const base = options.base ?? (await readBaseModel(found));
  return exportModel(found, target, base === undefined ? {} : { baseDir: await resolveModelDir(base, { onNotice }) });
}
