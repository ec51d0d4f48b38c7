import { toValue } from '../lmdb/checked-value.js';

/** Changes a fact that a file of a closed store has about itself. */
export async function putMeta(file: string, name: string, value: unknown): Promise<void> {
  const { open } = await import('lmdb');
  const database = open<Buffer>({ path: file, encoding: 'binary' });
  await database.put(['meta', name], name === 'format' ? Buffer.from(JSON.stringify(value)) : toValue(value, name));
  await database.close();
}
