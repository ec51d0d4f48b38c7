import type { Key, RootDatabase } from 'lmdb';

/**
 * Returns the reason of a failed commit. lmdb rejects a failed commit twice, the second time with the reason. If no
 * code handles the second rejection, the process ends.
 */
export async function reasonOfFailedWrite(error: unknown): Promise<unknown> {
  const { commitError } = error as { readonly commitError?: Promise<never> };
  return commitError === undefined ? error : await commitError.catch((reason: unknown) => reason);
}

/**
 * Closes a file after a failed write, while no other write is under way. lmdb's own close waits until everything is
 * synced, which never happens after a failed write. So this function does the work that lmdb would do after that wait.
 */
export function letGoOf(database: RootDatabase<Buffer, Key>): void {
  void database.close();
  const { env } = database as unknown as { readonly env: { address: number; readonly close: () => void } };
  env.address = 0;
  env.close();
}
