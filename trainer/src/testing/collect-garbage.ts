import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** Measurements of memory want it now and then, or the heap grows to a size that chance decides. */
export const collectGarbage = runInNewContext('gc') as () => void;
