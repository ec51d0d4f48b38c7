import { stat } from 'node:fs/promises';

/** The number of bytes of a file; 0 if there is no such file. */
export const sizeOf = (file: string): Promise<number> =>
  stat(file).then(
    (entry) => (entry.isFile() ? entry.size : 0),
    () => 0,
  );
