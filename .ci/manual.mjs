// `npm run manual` writes packages/agentjet/default.yaml, the manual of all keys, from the settings in the sources. It
// also writes packages/core/PARAMETERS.md, the list of what clients can ask for, and docs/other-names.md, the settings of other
// trainers, from the tables that decide. With `--check` it writes nothing, and fails if a file is stale.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { formatParameters, formatRetiredKeys } from '@agentjet/core/parameters';
import { configuration } from 'agentjet';

const root = path.dirname(import.meta.dirname);
const pages = [
  {
    name: 'packages/agentjet/default.yaml',
    text: configuration.writeManual(),
    source: 'the settings in the sources say',
  },
  { name: 'packages/core/PARAMETERS.md', text: formatParameters(), source: 'the table in src/parameters says' },
  { name: 'docs/other-names.md', text: formatRetiredKeys(), source: 'packages/core/src/config/retired-keys.ts says' },
];

for (const { name, text, source } of pages) {
  const file = path.join(root, name);
  if (!process.argv.includes('--check')) writeFileSync(file, text);
  else if (readFileSync(file, 'utf8') !== text) {
    console.error(`${name} is not what ${source}. Run \`npm run manual\`.`);
    process.exitCode = 1;
  }
}
