import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError, ConfigError, isBundledModel } from '@agentjet/core';
import { describeFileError } from '@agentjet/run-folder';
import { exportModel, readBaseModel, type ExportedModel } from '@agentjet/trainer';
import { formatOfTarget, type ModelFormat } from '../sources/model-formats.js';
import { findCheckpoint } from './find-checkpoint.js';
import { readTrainedKwargs } from './trained-kwargs.js';
import { writeTemplateDefaults } from './template-defaults.js';
import { resolveModelDir } from './model-dir.js';

export type ExportModelOptions = {
  /**
   * The base model of an adapter, as a folder or a name of the hub. It overrides the base model that the adapter names.
   */
  readonly base?: string;
  /** The number type of a file: `f16` (default) or `q8_0`. A folder keeps its types. */
  readonly type?: string;
  /**
   * Aborts the export. A download of the base model ends at once; copying ends after the current file or tensor. The
   * target does not exist afterwards.
   */
  readonly signal?: AbortSignal | undefined;
  /** Called with a line about each long operation, such as the download of the base model. */
  readonly onNotice?: (message: string) => void;
};

/**
 * Writes a trained model as a plain model folder, or as one file if the target ends in `.gguf`. A low-rank adapter is
 * merged into the weights.
 * @param dir a run folder (its last checkpoint), a checkpoint, any model folder, a GGUF file, a short name or a name of
 * the hub
 * @throws ConfigError for an unknown type; BackboneError, as `findCheckpoint`, `resolveModelDir`, `exportModel` and the
 * formats do
 */
export async function exportTunedModel(
  dir: string,
  target: string,
  options: ExportModelOptions = {},
): Promise<ExportedModel> {
  const format = formatOfTarget(target);
  const type = chooseType(format, options.type);
  if (format === undefined) return exportFolder(dir, target, options);
  if (existsSync(target))
    throw new BackboneError('checkpoint', `${path.resolve(target)} is there already. Name a new file.`);
  const scratch = await makeScratch(path.dirname(path.resolve(target)));
  try {
    const { signal } = options;
    const whole = await exportFolder(dir, path.join(scratch, 'model'), options);
    const numBytes = await format.write(whole.dir, target, { type, signal }).catch((error: unknown) => {
      throw showing(dir, whole.dir, error);
    });
    return { ...whole, dir: path.resolve(target), numBytes };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

function chooseType(format: ModelFormat | undefined, type: string | undefined): string {
  if (type === undefined) return format?.types[0] ?? '';
  if (format === undefined)
    throw new ConfigError(
      'wrong_value',
      `--type ${type} is for a file, such as agent.gguf. A folder keeps the numbers as they are: leave --type out.`,
    );
  if (format.types.includes(type)) return type;
  throw new ConfigError(
    'wrong_value',
    `--type is ${JSON.stringify(type)}; ${format.name} files are written as ${format.types.join(' or ')}.`,
  );
}

/** Makes a folder for the copy next to the target file, because the disk of temporary folders may be too small. */
async function makeScratch(parent: string): Promise<string> {
  try {
    return await mkdtemp(path.join(parent, '.ajet-export-'));
  } catch (error) {
    const message = describeFileError(parent, error, 'another folder');
    throw new BackboneError('checkpoint', message, { cause: error });
  }
}

/**
 * Replaces the path of the copy in the message with the user's model, because the copy no longer exists when the
 * message is read.
 */
function showing(model: string, copy: string, error: unknown): unknown {
  if (!(error instanceof BackboneError)) return error;
  return new BackboneError(error.code, error.message.replaceAll(copy, model), { cause: error });
}

async function exportFolder(dir: string, target: string, options: ExportModelOptions): Promise<ExportedModel> {
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
