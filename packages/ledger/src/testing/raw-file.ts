/** Key and value of a store's file as they are on disk: `[lane, sequence or name, base64]`. */
export type RawEntry = readonly [string, string | number, string];

/** Writes a file of a store, byte for byte as another version wrote it. */
export async function writeRawFile(file: string, entries: readonly RawEntry[]): Promise<void> {
  const { open } = await import('lmdb');
  const database = open<Buffer>({ path: file, encoding: 'binary' });
  for (const [lane, at, value] of entries) await database.put([lane, at], Buffer.from(value, 'base64'));
  await database.close();
}

/** Returns the format that a file of a store has. */
export async function readFormat(file: string): Promise<string> {
  const { open } = await import('lmdb');
  const database = open<Buffer>({ path: file, encoding: 'binary', readOnly: true });
  const format = JSON.parse(String(database.get(['meta', 'format']))) as string;
  await database.close();
  return format;
}
