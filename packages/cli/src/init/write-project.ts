import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AgentJetError, toErrorMessage } from '@agentjet/core';
import { completeManifest } from './complete-manifest.js';

/** If a project has these files already, it keeps them. */
const keptFiles: ReadonlySet<string> = new Set([
  'package.json',
  'tsconfig.json',
  '.gitignore',
  'README.md',
  'AGENTS.md',
  '.vscode/launch.json',
]);

/** An assistant's skills are kept too, since a project may have changed them. */
const isKept = (name: string): boolean => keptFiles.has(name) || path.posix.basename(name) === 'SKILL.md';

export type WrittenProject = {
  readonly written: readonly string[];
  /** True if package.json had only dependencies and was completed. */
  readonly completed: boolean;
  /** Existing files that differ from ours. */
  readonly kept: readonly string[];
};

/**
 * Writes missing files, completes a package.json that npm alone wrote, and overwrites nothing. Rejects with
 * AgentJetError `file_exists` before it writes anything, or with `unwritable_folder`.
 */
export async function writeProject(dir: string, files: ReadonlyMap<string, string>): Promise<WrittenProject> {
  if (existsSync(dir) && !statSync(dir).isDirectory())
    throw new AgentJetError('file_exists', `${dir} is a file. Name a folder for the project.`);
  const manifest = path.join(dir, 'package.json');
  const own = files.get('package.json');
  const completed = own === undefined ? undefined : completeManifest(manifest, own);
  const others = [...files]
    .filter(([name, text]) => isOther(path.join(dir, name), text))
    .map(([name]) => name)
    .filter((name) => name !== 'package.json' || completed === undefined);
  const conflicts = others.filter((name) => !isKept(name));
  if (conflicts.length > 0)
    throw new AgentJetError(
      'file_exists',
      `${dir} has its own ${conflicts.join(', ')}. Existing files are not overwritten. Name another folder: ajet init <folder> --framework <name>.`,
    );
  const missing = [...files].filter(([name]) => !existsSync(path.join(dir, name)));
  try {
    for (const [name, text] of missing) {
      await mkdir(path.dirname(path.join(dir, name)), { recursive: true });
      await writeFile(path.join(dir, name), text, { flag: 'wx' });
    }
    if (completed !== undefined) await writeFile(manifest, completed);
  } catch (cause) {
    throw new AgentJetError('unwritable_folder', `Cannot write the project to ${dir}: ${toErrorMessage(cause)}`, {
      cause,
    });
  }
  return { written: missing.map(([name]) => name), completed: completed !== undefined, kept: others };
}

function isOther(file: string, text: string): boolean {
  if (!existsSync(file)) return false;
  return !statSync(file).isFile() || readFileSync(file, 'utf8') !== text;
}
