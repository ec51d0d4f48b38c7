import { readdir } from 'node:fs/promises';
import path from 'node:path';
import type { LossCase } from './loss-case.js';

/** Returns the case of every file in the folder `cases`, by name. A file exports one case. */
export async function readLossCases(): Promise<readonly LossCase[]> {
  const folder = path.join(import.meta.dirname, 'cases');
  const files = (await readdir(folder)).filter((name) => /^[\w-]+\.(ts|js)$/.test(name)).toSorted();
  const found = files.map(async (name): Promise<readonly LossCase[]> => {
    const exported = (await import(new URL(`cases/${name}`, import.meta.url).href)) as Readonly<
      Record<string, LossCase>
    >;
    return Object.values(exported);
  });
  return (await Promise.all(found)).flat();
}
