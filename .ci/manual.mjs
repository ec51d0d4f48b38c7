// `npm run manual`: writes packages/agentjet/default.yaml, the manual of all keys, from the settings in the sources. With `--check` it writes
// nothing and fails if the file is stale.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { configuration } from 'agentjet';

const file = path.join(path.dirname(import.meta.dirname), 'packages/agentjet/default.yaml');
const written = configuration.writeManual();

if (!process.argv.includes('--check')) writeFileSync(file, written);
else if (readFileSync(file, 'utf8') !== written) {
  console.error('packages/agentjet/default.yaml is not what the settings in the sources say. Run `npm run manual`.');
  process.exit(1);
}
