import { judgeProtocol } from './judges/customized-protocol/registration.js';
import { readerProtocol } from './readers/customized-protocol/registration.js';
import { randomDummy } from './readers/random-dummy/registration.js';

/** Every task reader and judge of this package. */

export const readers = [readerProtocol, randomDummy] as const;
export const judges = [judgeProtocol] as const;
