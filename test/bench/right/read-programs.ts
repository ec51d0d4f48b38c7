import { readFileSync } from 'node:fs';
import path from 'node:path';

export type JudgedProgram = { readonly name: string; readonly program: string; readonly test: string };
export type ProgramLanguage = 'javascript' | 'python';

/**
 * Reads a file of programs, each with the test that a task would have for it: `=== name`, the program, `---`, the test.
 */
export function readPrograms(kind: 'cheats' | 'honest', language: ProgramLanguage): readonly JudgedProgram[] {
  const text = readFileSync(path.join(import.meta.dirname, 'data', `${kind}-${language}.txt`), 'utf8');
  return text
    .split(/^=== /m)
    .slice(1)
    .map((part) => {
      const end = part.indexOf('\n');
      const [program = '', test = ''] = part.slice(end + 1).split(/^---\n/m);
      return { name: part.slice(0, end), program, test };
    });
}
