import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Collects garbage. Measurements of memory call it regularly, because otherwise the heap grows to a random size. */
export const collectGarbage = runInNewContext('gc') as () => void;
