// Writes the pages of the API with TypeDoc, and counts the exported symbols that have no sentence.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';

const kinds = new Set([8, 32, 64, 128, 256, 2_097_152]); // enums, variables, functions, classes, interfaces, types

const hasSentence = (symbol) => symbol?.comment?.summary?.some(({ text }) => text.trim() !== '') === true;
const isExplained = (symbol) =>
  hasSentence(symbol) ||
  symbol.signatures?.some(hasSentence) === true ||
  symbol.type?.declaration?.signatures?.some(hasSentence) === true;

function* symbolsOf(node, within = []) {
  for (const child of node.children ?? []) {
    if (kinds.has(child.kind)) yield { name: [...within, child.name].join(' '), symbol: child };
    else yield* symbolsOf(child, [...within, child.name]);
  }
}

/** Writes the pages under `out`. Returns the number of symbols and the names of those without a sentence. */
export function writeApi(site, out) {
  const json = path.join(out, 'api.json');
  const tool = path.join(site, 'node_modules/typedoc/bin/typedoc');
  const pages = [
    '--plugin',
    'typedoc-plugin-markdown',
    '--plugin',
    path.join(site, 'package-names.mjs'),
    '--out',
    path.join(out, 'api'),
    '--entryFileName',
    'index',
  ];
  const args = [tool, '--json', json, ...pages, '--hidePageHeader', 'true', '--hideBreadcrumbs', 'true'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: site, encoding: 'utf8' });
  if (status !== 0) throw new Error(`TypeDoc failed:\n${stdout}${stderr}`);
  const symbols = [...symbolsOf(JSON.parse(readFileSync(json, 'utf8')))];
  return {
    symbols: symbols.length,
    silent: symbols.filter(({ symbol }) => !isExplained(symbol)).map(({ name }) => name),
  };
}
