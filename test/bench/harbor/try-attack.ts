/** Tries the attacks in the files of the command line: `npx tsx test/bench/harbor/try-attack.ts my-attack.sh`. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { tryAttack } from './attack.js';

for (const file of process.argv.slice(2))
  console.log(path.basename(file), JSON.stringify(await tryAttack(readFileSync(file, 'utf8')), null, 1));
