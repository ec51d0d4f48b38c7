import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { build, type Plugin } from 'esbuild';
import { root } from '../../../.ci/workspaces.mjs';
import type { Edit, SwarmMutant } from './swarm-mutants.js';

/**
 * Builds hunt.ts and all sources that it imports into one file, with the edits of a mutant. The sources themselves are
 * not changed. Dependencies are imported from node_modules, so the file must be below the root of the repository.
 */
export async function buildHunt({ name, edits }: SwarmMutant, outfile: string): Promise<void> {
  const planted = new Set<string>();
  await build({
    entryPoints: [path.join(import.meta.dirname, 'hunt.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    tsconfig: path.join(root, 'tsconfig.check.json'),
    logLevel: 'error',
    plugins: [plantEdits(edits, planted)],
  });
  const unused = edits.find(({ file }) => !planted.has(file));
  if (unused !== undefined) throw new Error(`Cannot plant "${name}": the hunt does not import ${unused.file}.`);
}

function plantEdits(edits: readonly Edit[], planted: Set<string>): Plugin {
  return {
    name: 'plant edits',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, async ({ path: file }) => {
        const ofFile = edits.filter((edit) => path.join(root, edit.file) === file);
        if (ofFile.length === 0) return undefined;
        for (const edit of ofFile) planted.add(edit.file);
        return { contents: ofFile.reduce(plant, await readFile(file, 'utf8')), loader: 'ts' };
      });
    },
  };
}

function plant(source: string, { file, original, mutated }: Edit): string {
  const count = source.split(original).length - 1;
  if (count === 1) return source.replace(original, () => mutated);
  throw new Error(
    `${file} has ${JSON.stringify(original)} ${count} times. Bring test/swarm/mutants/swarm-mutants.ts up to date.`,
  );
}
