import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Measurements of memory collect garbage now and then. Otherwise the heap grows to a random size. */
export const collectGarbage = runInNewContext('gc') as () => void;
