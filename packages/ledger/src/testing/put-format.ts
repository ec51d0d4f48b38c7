/** Changes the format of a file of a closed store. */
export async function putFormat(file: string, format: string): Promise<void> {
  const { open } = await import('lmdb');
  const database = open<Buffer>({ path: file, encoding: 'binary' });
  await database.put(['meta', 'format'], Buffer.from(JSON.stringify(format)));
  await database.close();
}
