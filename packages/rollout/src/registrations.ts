import { customizedProtocol as judgeProtocol } from './judges/customized-protocol/registration.js';
import { customizedProtocol as readerProtocol } from './readers/customized-protocol/registration.js';
import { jsonlDatasetFile } from './readers/jsonl-dataset-file/registration.js';
import { randomDummy } from './readers/random-dummy/registration.js';

/** Every task reader and judge of this package; the first of a list is the default. */

export const readers = [jsonlDatasetFile, readerProtocol, randomDummy] as const;
export const judges = [judgeProtocol] as const;
