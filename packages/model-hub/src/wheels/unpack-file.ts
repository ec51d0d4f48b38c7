import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { BackboneError } from '@agentjet/core';
import type { Entry, ZipFile } from 'yauzl';

export type UnpackOptions = {
  /** The name of the file in the archive. */
  readonly name: string;
  readonly target: string;
  readonly signal?: AbortSignal | undefined;
};

/** Writes one file of a wheel, which is a zip archive, to `target`. Rejects with BackboneError `bad_archive`. */
export async function unpackFile(archive: string, { name, target, signal }: UnpackOptions): Promise<void> {
  const zip = await openArchive(archive);
  try {
    const entry = await findEntry(zip, name);
    if (entry === undefined) throw new BackboneError('bad_archive', `${archive} holds no ${name}.`);
    const openStream = promisify(zip.openReadStream.bind(zip) as OpenStream);
    await pipeline(await openStream(entry), createWriteStream(target), { ...(signal && { signal }) });
  } finally {
    zip.close();
  }
}

async function openArchive(archive: string): Promise<ZipFile> {
  const { open } = await import('yauzl');
  return new Promise((resolve, reject) => {
    open(archive, { lazyEntries: true, autoClose: false }, (error, zip) => {
      if (error === null) return resolve(zip);
      const reason = `${archive} cannot be read as a zip archive: ${error.message}. Download it again.`;
      reject(new BackboneError('bad_archive', reason, { cause: error }));
    });
  });
}

type OpenStream = (entry: Entry, callback: (error: Error | null, stream: NodeJS.ReadableStream) => void) => void;

function findEntry(zip: ZipFile, name: string): Promise<Entry | undefined> {
  return new Promise((resolve, reject) => {
    zip.once('error', reject);
    zip.once('end', () => resolve(undefined));
    zip.on('entry', (entry: Entry) => (entry.fileName === name ? resolve(entry) : zip.readEntry()));
    zip.readEntry();
  });
}
