import path from 'node:path';
import { expect, it } from 'vitest';
import { findDeclaredTwice } from './declared-twice.js';
import { listSources } from './sources.js';
import { countCodeLines, countLines } from './count-lines.js';
import { findCircles } from './import-circles.js';

const root = path.resolve(import.meta.dirname, '../../..');

it('counts lines that are neither blank nor comment', () => {
  const text = `/**\n * What it is.\n */\nimport a from 'a'; // why\n\nconst text = \`\n  // not a comment\n\n\`;\n/* one */ run(text);\n`;
  expect(countCodeLines({ file: 'a.ts', text })).toBe(5);
  expect(countLines(text)).toBe(10);
});

it('finds circles, and separates those of types alone from the others', () => {
  const sources = [
    { file: 'x/src/a.ts', text: `import type { B } from './b.js';\nexport type A = B;\n` },
    { file: 'x/src/b.ts', text: `export { c } from './c.js';\nexport type B = string;\n` },
    { file: 'x/src/c.ts', text: `import { type A } from './a.js';\nexport const c: A = await import('./d.js');\n` },
    { file: 'x/src/d.ts', text: `import { c } from './c.js';\nexport default c;\n` },
  ];
  const sorted = (circles: readonly (readonly string[])[]) => circles.map((circle) => circle.toSorted());
  expect(sorted(findCircles(sources, 'all'))).toEqual([['x/src/a.ts', 'x/src/b.ts', 'x/src/c.ts', 'x/src/d.ts']]);
  expect(sorted(findCircles(sources, 'values'))).toEqual([['x/src/c.ts', 'x/src/d.ts']]);
});

it('declares each exported name of the repository in one file', () => {
  const files = listSources(root).map(({ file }) => file);
  expect(files.length).toBeGreaterThan(1000);
  expect(findDeclaredTwice(root, files)).toEqual([]);
});
