/** Key and value of a store's file as they are on the disk: `[lane, sequence or name, base64]`. */
export type RawEntry = readonly [string, string | number, string];

/** Writes a file of a store, byte for byte what another version wrote. */
export async function writeRawFile(file: string, entries: readonly RawEntry[]): Promise<void> {
  const { open } = await import('lmdb');
  const database = open<Buffer>({ path: file, encoding: 'binary' });
  for (const [lane, at, value] of entries) await database.put([lane, at], Buffer.from(value, 'base64'));
  await database.close();
}

/** The format that a file of a store says it has. */
export async function readFormat(file: string): Promise<string> {
  const { open } = await import('lmdb');
  const database = open<Buffer>({ path: file, encoding: 'binary', readOnly: true });
  const format = JSON.parse(String(database.get(['meta', 'format']))) as string;
  await database.close();
  return format;
}
