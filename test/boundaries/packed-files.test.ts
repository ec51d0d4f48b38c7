import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

const trainerDir = path.resolve(import.meta.dirname, '../../trainer');

function packedFiles(): readonly string[] {
  const text = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: trainerDir, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], shell: process.platform === 'win32' });
  const listed = JSON.parse(text) as unknown;
  const [report] = (Array.isArray(listed) ? listed : Object.values(listed as object)) as readonly { readonly files: readonly { readonly path: string }[] }[];
  return report?.files.map((file) => file.path) ?? [];
}

it('whoever installs the trainer has the GPU worker and what sets it up, and no environment of ours', () => {
  const packed = packedFiles();
  const inFolder = readdirSync(path.join(trainerDir, 'torch/ajet_torch'), { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.py'));
  const worker = inFolder.map((file) => `torch/ajet_torch/${file.replaceAll(path.sep, '/')}`);
  expect(worker.length).toBeGreaterThan(20);
  expect(packed).toEqual(expect.arrayContaining([...worker, 'torch/setup.mjs', 'torch/requirements.txt', 'torch/README.md']));
  expect(packed.filter((file) => /\.venv|__pycache__|torch\/(tests|bench)\//.test(file))).toEqual([]);
});

it('a command lies in the repository itself, so that npm links it before anything is built', () => {
  const cliDir = path.resolve(import.meta.dirname, '../../packages/cli');
  const { bin, files } = JSON.parse(readFileSync(path.join(cliDir, 'package.json'), 'utf8')) as { readonly bin: Readonly<Record<string, string>>; readonly files: readonly string[] };
  const [folder = '', ...rest] = path.normalize(bin['ajet'] ?? '').split(path.sep);
  expect(existsSync(path.join(cliDir, folder, ...rest))).toBe(true);
  expect(folder).not.toBe('dist');
  expect(files).toContain(folder);
});
