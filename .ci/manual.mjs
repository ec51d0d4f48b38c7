// `npm run manual` writes packages/agentjet/default.yaml, the manual of all keys, from the settings in the sources. It
// also writes packages/core/PARAMETERS.md, the list of what clients can ask for, from the table that decides it. With
// `--check` it writes nothing, and fails if a file is stale.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { formatParameters } from '@agentjet/core/parameters';
import { configuration } from 'agentjet';

const root = path.dirname(import.meta.dirname);
const pages = [
  {
    name: 'packages/agentjet/default.yaml',
    text: configuration.writeManual(),
    source: 'the settings in the sources say',
  },
  { name: 'packages/core/PARAMETERS.md', text: formatParameters(), source: 'the table in src/parameters says' },
];

for (const { name, text, source } of pages) {
  const file = path.join(root, name);
  if (!process.argv.includes('--check')) writeFileSync(file, text);
  else if (readFileSync(file, 'utf8') !== text) {
    console.error(`${name} is not what ${source}. Run \`npm run manual\`.`);
    process.exitCode = 1;
  }
}
