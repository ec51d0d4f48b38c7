/** Tries the attacks in the files of the command line: `npx tsx test/bench/harbor/try-attack.ts my-attack.sh`. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { tryAttack } from './attack.js';

for (const file of process.argv.slice(2)) {
  const name = path.basename(file);
  console.log(name, JSON.stringify(await tryAttack(name, readFileSync(file, 'utf8')), null, 1));
}
process.exit(0);
