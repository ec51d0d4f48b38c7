import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { BackboneError, isBundledModel, quoteForShell } from '@agentjet/core';
import { exportModel, readBaseModel } from '@agentjet/trainer';

export type WholeModel = {
  readonly dir: string;
  /** Removes the copy, if it is one. */
  close(): Promise<void>;
};

type WholeModelOptions = {
  /** The folder of the model that an adapter belongs to. Rejects with BackboneError before anything is merged. */
  readonly openBase: (model: string) => Promise<string>;
  /** Aborting ends the merging. */
  readonly signal?: AbortSignal | undefined;
  readonly onNotice?: ((message: string) => void) | undefined;
};

/**
 * The model that an engine opens: the folder itself, or a copy in which an adapter (LoRA) and its model are merged.
 * close() removes the copy. `model` is the folder of a model or an adapter; other names of a model are returned
 * unchanged. Throws BackboneError with the repair for an adapter that cannot be merged, or `aborted`.
 */
export async function openWholeModel(model: string, options: WholeModelOptions): Promise<WholeModel> {
  const base = isBundledModel(model) ? undefined : await readBaseModel(model);
  if (base === undefined) return { dir: model, close: async () => undefined };
  const { openBase, signal, onNotice } = options;
  const scratch = await mkdtemp(path.join(tmpdir(), 'ajet-merged-'));
  // the model is open by now, and the system clears its temporary folder if this removal fails
  const close = (): Promise<void> => rm(scratch, { recursive: true, force: true }).catch(() => undefined);
  try {
    const baseDir = await openBase(base);
    onNotice?.(`Merging the adapter ${model} into its model, ${base}.`);
    return { dir: (await exportModel(model, path.join(scratch, 'model'), { baseDir, signal })).dir, close };
  } catch (error) {
    await close();
    throw explain(error, { adapter: model, base });
  }
}

type Parts = { readonly adapter: string; readonly base: string };

/** The user named the adapter, but most errors name its model. */
function explain(error: unknown, { adapter, base }: Parts): unknown {
  if (!(error instanceof BackboneError) || error.code === 'aborted') return error;
  const message = `${adapter} is an adapter (LoRA) of ${base}. ${error.message}`;
  return new BackboneError(error.code, `${message}${wayOut(error.code, adapter)}`, { cause: error });
}

function wayOut(code: string, adapter: string): string {
  const quoted = quoteForShell(adapter);
  if (code === 'unsupported_model')
    return ` \`ajet serve ${quoted} --engine vllm\` serves the two merged, and \`ajet export ${quoted} <new folder>\` merges them for other programs.`;
  if (code === 'not_enough_memory' || code === 'checkpoint') return ''; // it names a repair, or the disk caused it
  return ` If its model is elsewhere, merge them with \`ajet export ${quoted} <new folder> --base <model>\`, and open the new folder.`;
}
