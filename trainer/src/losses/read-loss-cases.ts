import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { LossCase } from './loss-case.js';

/** Returns the case of every file in the folder `cases`, by name. */
export async function readLossCases(): Promise<readonly LossCase[]> {
  const folder = path.join(import.meta.dirname, 'cases');
  const files = (await readdir(folder)).filter((name) => /^[\w-]+\.(ts|js)$/.test(name)).toSorted();
  return Promise.all(
    files.map(
      async (name) =>
        ((await import(new URL(`cases/${name}`, import.meta.url).href)) as { readonly lossCase: LossCase }).lossCase,
    ),
  );
}
