import { openSync, closeSync, fstatSync, readSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { parseJsonObject, type CommonConfig } from '@agentjet/core';

/**
 * Says that `lora.adapter` was made for another model than the one that it begins on. Its changes then fit no weight,
 * and only its shapes are checked elsewhere. Says nothing if the two cannot be compared.
 */
export function noticeAdapterBase(
  { lora, model }: Pick<CommonConfig, 'lora' | 'model'>,
  modelDir: string,
): readonly string[] {
  if (lora.adapter === null) return [];
  const base = readBase(lora.adapter);
  if (base === undefined || !isOther(base, { name: model.path, dir: modelDir })) return [];
  return [
    `The adapter ${lora.adapter} (lora.adapter) was made for the model ${base}, and training begins with it on ${model.path}. If their weights differ, its changes do not fit.`,
  ];
}

function readBase(adapter: string): string | undefined {
  const file = path.join(adapter, 'adapter_config.json');
  const { base_model_name_or_path: base } = orUndefined(() => parseJsonObject(readFileSync(file, 'utf8'))) ?? {};
  return typeof base === 'string' && base !== '' ? base : undefined;
}

const hubName = /^[\w.-]+\/[\w.-]+$/;
const withoutRevision = (name: string): string => name.replace(/@.*$/, '');

function isOther(base: string, { name, dir }: { readonly name: string; readonly dir: string }): boolean {
  if (base === name) return false;
  const [ofBase, own] = [readMarks(base), readMarks(dir)];
  if (ofBase !== undefined && own !== undefined) return ofBase !== own;
  const names = [base, name].map(withoutRevision);
  return names.every((each) => hubName.test(each)) && names[0] !== names[1];
}

/** The number of bytes from the middle of each file that are compared. */
const numCompared = 4096;

/** Returns a string that is the same for the same weights. Undefined if the folder has none. */
function readMarks(dir: string): string | undefined {
  return orUndefined(() => {
    const folder = realpathSync(dir);
    const files = readdirSync(folder).filter((file) => file.endsWith('.safetensors'));
    return files.length === 0
      ? undefined
      : files
          .toSorted()
          .map((file) => readMark(path.join(folder, file)))
          .join();
  });
}

function readMark(file: string): string {
  const descriptor = openSync(file, 'r');
  try {
    const { size } = fstatSync(descriptor);
    const bytes = Buffer.alloc(numCompared);
    readSync(descriptor, bytes, 0, numCompared, Math.floor(size / 2));
    return `${size} ${bytes.toString('base64')}`;
  } finally {
    closeSync(descriptor);
  }
}

function orUndefined<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
