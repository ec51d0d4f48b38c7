import { adviceByFieldName, adviceByKey, adviceByValue } from './retired-keys.js';

/** Settings are code on a page, and `|` would end a cell. */
const inCell = (text: string): string => text.replaceAll(/"([\w.]+)"/g, '`$1`').replaceAll('|', '\\|');

const tableOf = (head: string, advice: Readonly<Record<string, string>>): string =>
  [
    `| ${head} | instead |`,
    '|---|---|',
    ...Object.entries(advice).map(([name, text]) => `| \`${name.replace('=', ': ')}\` | ${inCell(text)} |`),
  ].join('\n');

/** Returns a page with the settings of other trainers that this configuration refuses, and what to use instead. */
export function formatRetiredKeys(): string {
  return `# Settings under other names

\`npm run manual\` writes this page. A configuration that has one of these settings is refused with the advice of its row. A setting that is in neither
this list nor [the configuration](configuration.md) is refused with the nearest name.

## Of the Python AgentJet

All other settings of the Python AgentJet have the same name and meaning here. Some of these are accepted with the value that asks for nothing special.

${tableOf('setting under `ajet.`', adviceByKey)}

## Values

${tableOf('value', adviceByValue)}

## Of verl, TRL, OpenRLHF, SkyRL and prime-rl

A setting is known by the last part of its key.

${tableOf('setting', adviceByFieldName)}
`;
}
