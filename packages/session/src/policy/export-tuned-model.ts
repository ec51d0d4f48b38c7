import { isBundledModel } from '@agentjet/core';
import { exportModel, readBaseModel, type ExportedModel } from '@agentjet/trainer';
import { findCheckpoint } from './find-checkpoint.js';
import { readTrainedKwargs } from './trained-kwargs.js';
import { writeTemplateDefaults } from './template-defaults.js';
import { resolveModelDir } from './model-dir.js';

export type ExportModelOptions = {
  /** The model that an adapter belongs to, in place of the one that it names: a folder, or a name of the hub. */
  readonly base?: string;
  /** Ends a download of the base model, and copying between two files or tensors; then nothing is left at the target. */
  readonly signal?: AbortSignal | undefined;
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
  const { onNotice = () => undefined, signal } = options;
  const asked = { onNotice, signal };
  const found = await resolveModelDir(isBundledModel(dir) ? dir : await findCheckpoint(dir, onNotice), asked);
  const base = options.base ?? (await readBaseModel(found));
  const baseDir = base === undefined ? undefined : await resolveModelDir(base, asked);
  const exported = await exportModel(found, target, { signal, ...(baseDir !== undefined && { baseDir }) });
  const { chatTemplateKwargs } = await readTrainedKwargs(found);
  await writeTemplateDefaults(exported.dir, chatTemplateKwargs);
  return exported;
}
