import { closeSync, openSync, readSync } from 'node:fs';
import { createRequire } from 'node:module';
import type * as yaml from 'yaml';
import { ConfigError } from '../errors.js';

const require = createRequire(import.meta.url);

/** Loads the YAML library. Its 72 files are needed when the first configuration is read or written, not when core is imported. */
export function loadYaml(): typeof yaml {
  return require('yaml') as typeof yaml;
}

/** Only this many bytes are read: a longer file is refused anyway, and a device may never end. */
const mostBytes = 16 * 2 ** 20;

/** Returns the content of a configuration file. Throws the errors of the file system, and ConfigError `bad_yaml` if it is not UTF-8. */
export function readConfigText(file: string): string {
  const bytes = readBeginning(file);
  const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  if (isUtf16) throw new ConfigError('bad_yaml', `${file} is UTF-16. Save it as UTF-8.`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new ConfigError('bad_yaml', `${file} is not UTF-8. Save it as UTF-8.`, { cause });
  }
}

function readBeginning(file: string): Buffer {
  const descriptor = openSync(file, 'r');
  try {
    const pieces: Buffer[] = [];
    for (let length = 0; length < mostBytes; ) {
      const piece = Buffer.allocUnsafe(1 << 16);
      const size = readSync(descriptor, piece);
      if (size === 0) break;
      pieces.push(piece.subarray(0, size));
      length += size;
    }
    return Buffer.concat(pieces);
  } finally {
    closeSync(descriptor);
  }
}
