import { open } from 'node:fs/promises';
import path from 'node:path';
import type { JsonObject } from '@agentjet/core';
import { readCacheHome } from '@agentjet/model-hub';
import { tellDownload } from './tell-download.js';

/**
 * A format of files that hold a whole model. Such a file is opened as a folder in the Hugging Face layout, and a folder
 * can be written as such a file.
 */
export type ModelFormat = {
  readonly name: string;
  readonly extension: string;
  /** The first bytes of every file in this format. */
  readonly magic: string;
  /** Converts the file to a folder the first time. Rejects with BackboneError. */
  readonly open: (file: string, options: FormatOptions) => Promise<OpenedFormat>;
  /** The number types that can be written. The first one is the default. */
  readonly types: readonly [string, ...(readonly string[])];
  /**
   * Writes a folder as the file `target`, and resolves with the file's size in bytes. If this fails, it leaves no file
   * and rejects with BackboneError.
   */
  readonly write: (dir: string, target: string, options: WriteFormatOptions) => Promise<number>;
};

export type WriteFormatOptions = { readonly type: string; readonly signal?: AbortSignal | undefined };

export type FormatOptions = {
  readonly withWeights: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly onNotice: (message: string) => void;
};

export type OpenedFormat = { readonly dir: string; readonly source: JsonObject };

const modelFormats: readonly ModelFormat[] = [
  {
    name: 'GGUF',
    extension: '.gguf',
    magic: 'GGUF',
    open: openGgufFile,
    types: ['f16', 'q8_0'],
    write: async (dir, target, { type, signal }) => {
      const { exportGguf } = await import('@agentjet/gguf');
      return (await exportGguf(dir, target, { type: type === 'q8_0' ? type : 'f16', signal })).numBytes;
    },
  },
];

/** Returns the format of a file that is to be written. Returns undefined for the name of a folder. */
export function formatOfTarget(target: string): ModelFormat | undefined {
  return modelFormats.find(({ extension }) => path.extname(target).toLowerCase() === extension);
}

async function openGgufFile(file: string, { withWeights, signal, onNotice }: FormatOptions): Promise<OpenedFormat> {
  const { openGguf } = await import('@agentjet/gguf');
  const onProgress = tellDownload(path.basename(file), onNotice, { verb: 'converting' });
  return openGguf(file, { cacheDir: modelCacheDir(), withWeights, signal, onProgress });
}

/** Returns the folder in which converted models are kept. */
export function modelCacheDir(): string {
  return path.join(readCacheHome(), 'agentjet', 'models');
}

/**
 * Finds the format by the file's name, or by its first bytes, because programs such as Ollama give model files other
 * names. Returns undefined for any other file.
 */
export async function findModelFormat(file: string): Promise<ModelFormat | undefined> {
  const named = formatOfTarget(file);
  if (named !== undefined) return named;
  const handle = await open(file, 'r');
  try {
    const { buffer } = await handle.read(Buffer.alloc(8), 0, 8, 0);
    const beginning = buffer.toString('latin1');
    return modelFormats.find(({ magic }) => beginning.startsWith(magic));
  } finally {
    await handle.close();
  }
}
