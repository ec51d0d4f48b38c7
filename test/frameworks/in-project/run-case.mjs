/** Checks the case of this project, and prints what is wrong as the last line. Runs under the newest Node. */
import { writeFileSync } from 'node:fs';
import * as given from './case.mjs';
import { check } from './check.mjs';

const [outcomeFile] = process.argv.slice(2);
const complaints = await check(given);
writeFileSync(outcomeFile, JSON.stringify({ complaints }));
// A framework may leave timers or connections open.
process.exit(0);
