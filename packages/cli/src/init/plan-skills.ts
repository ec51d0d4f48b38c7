import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

/** The folder that most coding assistants read. */
export const usualSkillsFolder = '.claude/skills';

/** The package brings the skills. A clone of the repository has them at its top. */
function findSkills(): string | undefined {
  const dir = path.dirname(createRequire(import.meta.url).resolve('agentjet/package.json'));
  return [path.join(dir, 'skills'), path.join(dir, '../../skills')].find((folder) => existsSync(folder));
}

/** Returns the skills for coding assistants as contents by path, below `folder`. Empty if they are not installed. */
export function planSkills(folder: string): ReadonlyMap<string, string> {
  const dir = findSkills();
  if (dir === undefined) return new Map();
  return new Map(
    readdirSync(dir)
      .toSorted()
      .map((name) => [
        path.posix.join(folder.replaceAll(path.sep, '/'), name, 'SKILL.md'),
        readFileSync(path.join(dir, name, 'SKILL.md'), 'utf8'),
      ]),
  );
}
