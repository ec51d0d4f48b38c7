import type { Key, RootDatabase } from 'lmdb';

/** A commit of lmdb that fails is rejected twice, the second time with the reason. Nobody else would hear of the second one, which ends a process. */
export async function reasonOfFailedWrite(error: unknown): Promise<unknown> {
  const { commitError } = error as { readonly commitError?: Promise<never> };
  return commitError === undefined ? error : await commitError.catch((reason: unknown) => reason);
}

/**
 * Closes a file of which a write has failed, while no other one is under way. To do so lmdb waits until all was brought to the disk, which never
 * comes; what it does afterwards is done here.
 */
export function letGoOf(database: RootDatabase<Buffer, Key>): void {
  void database.close();
  const { env } = database as unknown as { readonly env: { address: number; readonly close: () => void } };
  env.address = 0;
  env.close();
}
