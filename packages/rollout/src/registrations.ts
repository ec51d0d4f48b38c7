import { judgeProtocol } from './judges/customized-protocol/registration.js';
import { readerProtocol } from './readers/customized-protocol/registration.js';
import { randomDummy } from './readers/random-dummy/registration.js';

/** All task readers and judges of this package. */

export const readers = [readerProtocol, randomDummy] as const;
export const judges = [judgeProtocol] as const;
