import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { sourceFiles } from '../boundaries/source-files.js';

const root = path.resolve(import.meta.dirname, '../..');

/** The ways to hide a warning of Node from a person who runs a command. */
const silencers = [
  /--no-(warnings|deprecation)/,
  /--disable-warning/,
  /NODE_NO_WARNINGS/,
  /\.noDeprecation/,
  /removeAllListeners\((['"]warning['"])?\)/,
  /process\.(emit|emitWarning) *=[^=]/,
];

it('no command silences a warning: what causes one is repaired', () => {
  const others = sourceFiles(root).filter((file) => path.join(root, file) !== import.meta.filename);
  expect(others.length).toBeGreaterThan(500);
  const found = [...others, 'package.json'].flatMap((file) => {
    const source = readFileSync(path.join(root, file), 'utf8');
    return silencers.filter((silencer) => silencer.test(source)).map((silencer) => `${file}: ${silencer.source}`);
  });
  expect(found).toEqual([]);
});
