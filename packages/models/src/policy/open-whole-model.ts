import { rm } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError, isBundledModel, quoteForShell } from '@agentjet/core';
import { createScratchFolder } from '@agentjet/run-folder';
import { exportModel, readBaseModel } from '@agentjet/trainer';

export type WholeModel = {
  readonly dir: string;
  readonly isCopy: boolean;
  /** Removes the folder if it is a copy. */
  close(): Promise<void>;
};

type WholeModelOptions = {
  /** The folder of the model that an adapter belongs to. Rejects with BackboneError before anything is merged. */
  readonly openBase: (model: string) => Promise<string>;
  /** If it is aborted, merging ends. */
  readonly signal?: AbortSignal | undefined;
  readonly onNotice?: ((message: string) => void) | undefined;
};

/**
 * Returns the model that an engine can open: the folder itself, or a copy in which an adapter (LoRA) is merged into its
 * model. `close` removes the copy. `model` is the folder of a model or an adapter. Other names of a model are returned
 * unchanged. Rejects with a BackboneError that names the repair if an adapter cannot be merged, and with `aborted` if
 * the signal aborts.
 */
export async function openWholeModel(model: string, options: WholeModelOptions): Promise<WholeModel> {
  const base = isBundledModel(model) ? undefined : await readBaseModel(model);
  if (base === undefined) return { dir: model, isCopy: false, close: async () => undefined };
  const { openBase, signal, onNotice } = options;
  const scratch = await createScratchFolder('ajet-merged-');
  // if this fails, a later process removes the folder after this one has ended
  const close = (): Promise<void> => rm(scratch, { recursive: true, force: true }).catch(() => undefined);
  try {
    const baseDir = await openBase(base);
    onNotice?.(`Merging the adapter ${model} into its model, ${base}.`);
    return {
      dir: (await exportModel(model, path.join(scratch, 'model'), { baseDir, signal })).dir,
      isCopy: true,
      close,
    };
  } catch (error) {
    await close();
    throw explain(error, { adapter: model, base });
  }
}

type Parts = { readonly adapter: string; readonly base: string };

/** Adds the adapter to an error, because the user named the adapter and most errors name its model. */
function explain(error: unknown, { adapter, base }: Parts): unknown {
  if (!(error instanceof BackboneError) || error.code === 'aborted') return error;
  const message = `${adapter} is an adapter (LoRA) of ${base}. ${error.message}`;
  return new BackboneError(error.code, `${message}${wayOut(error.code, adapter)}`, { cause: error });
}

function wayOut(code: string, adapter: string): string {
  const quoted = quoteForShell(adapter);
  if (code === 'unsupported_model')
    return ` \`ajet serve ${quoted} --engine vllm\` serves the two merged, and \`ajet export ${quoted} <new folder>\` merges them for other programs.`;
  // Add nothing to an error that names a repair or that the disk caused.
  if (code === 'not_enough_memory' || code === 'checkpoint') return '';
  return ` If its model is elsewhere, merge them with \`ajet export ${quoted} <new folder> --base <model>\`, and open the new folder.`;
}
