import { readFileSync } from 'node:fs';
import path from 'node:path';

/** The page of the frameworks shows the code that is tried: the parts between `// #region page` and `// #endregion`. */

const here = import.meta.dirname;
export const pageFile = path.resolve(here, '../../docs/frameworks.md');
const mark = /<!-- code ([\w/.-]+) -->[^]*?<!-- \/code -->/g;

/** Returns the page with the current code of its cases. */
export const fillPage = (page: string): string =>
  page.replaceAll(mark, (_old, file: string) => {
    const code = regionsOf(readFileSync(path.join(here, 'cases', file), 'utf8'));
    if (code === '') throw new Error(`cases/${file} has no part between "// #region page" and "// #endregion".`);
    return `<!-- code ${file} -->\n\`\`\`js\n${code}\n\`\`\`\n<!-- /code -->`;
  });

/** Returns the names of the cases that the page shows. */
export const casesOnPage = (page: string): readonly string[] =>
  [...page.matchAll(mark)].map(([, file = '']) => file.split('/')[0] ?? '');

function regionsOf(source: string): string {
  const regions = [...source.matchAll(/^( *)\/\/ #region page\n([^]*?)^ *\/\/ #endregion/gm)];
  return regions
    .map(([, indent = '', code = '']) => code.replaceAll(new RegExp(`^${indent}`, 'gm'), '').trimEnd())
    .join('\n\n');
}
