import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { sourceFiles } from '../boundaries/source-files.js';

const root = path.resolve(import.meta.dirname, '../..');

/** Matches a program's name, then words, then a value that is filled in: `ajet inspect ${run}`. */
const command =
  /(?<![\w@/-])(?:ajet (?:swarm )?[a-z]+|npx|npm install|node|cd|curl|python -m|torchrun)\b[^`\n]*?\$\{(?<value>[^`]*?)\}/g;
const paths = /\b(dir|folder|file|path|run|runDir|target|adapter|home|python|here|owner)\b/i;

function unquotedIn(source: string): readonly string[] {
  return [...source.matchAll(command)]
    .filter(({ groups }) => paths.test(groups?.['value'] ?? '') && !groups?.['value']?.includes('quoteForShell'))
    .map(([found]) => found);
}

it('finds a path that is not quoted', () => {
  expect(unquotedIn('`See: ajet inspect ${runDir}`')).toHaveLength(1);
  expect(unquotedIn('`See: ajet inspect ${quoteForShell(runDir)}`')).toEqual([]);
});

it('every path in a command that we print is quoted for a shell', () => {
  const sources = sourceFiles(root).filter(
    (file) => /^(packages|trainer|adapters|\.ci)\//.test(file) && !file.includes('.test.'),
  );
  const found = sources.flatMap((file) =>
    unquotedIn(readFileSync(path.join(root, file), 'utf8')).map((line) => `${file}: ${line}`),
  );
  expect(found).toEqual([]);
});
