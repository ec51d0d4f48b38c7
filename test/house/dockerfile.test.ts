import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '../..');
const readText = (file: string): string => readFileSync(path.join(root, file), 'utf8');

type Instruction = { readonly name: string; readonly rest: string };

/** Comments left out, lines that a backslash ends joined. */
function readInstructions(text: string): readonly Instruction[] {
  const lines = text.replaceAll(/^\s*#.*\n/gm, '').replaceAll(/\\\n\s*/g, ' ');
  return lines
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name = '', rest = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
      return { name, rest: rest.trim() };
    });
}

const instructions = readInstructions(readText('trainer/torch/Dockerfile'));
const all = (name: string): readonly string[] =>
  instructions.filter((each) => each.name === name).map(({ rest }) => rest);
const ignored = readText('.dockerignore')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));

it('has only instructions that Docker knows, and begins with an image', () => {
  const known = ['FROM', 'RUN', 'COPY', 'ENV', 'WORKDIR', 'ENTRYPOINT', 'CMD'];
  expect(instructions.filter(({ name }) => !known.includes(name))).toEqual([]);
  expect(instructions[0]?.name).toBe('FROM');
});

it('names a version of each image', () => {
  const images = all('FROM').map((rest) => rest.split(' ')[0]);
  expect(images).toEqual(['node:24-bookworm-slim', 'nvidia/cuda:13.0.1-base-ubuntu24.04']);
});

it('copies paths that are there and not ignored, and stages that were named', () => {
  const stages = all('FROM').flatMap((rest) => / AS (\S+)$/.exec(rest)?.[1] ?? []);
  for (const rest of all('COPY')) {
    const from = /^--from=(\S+)/.exec(rest)?.[1];
    if (from !== undefined) {
      expect(stages).toContain(from);
      continue;
    }
    const [source = ''] = rest.split(' ');
    expect([source, existsSync(path.join(root, source))]).toEqual([source, true]);
    expect(ignored).not.toContain(source);
  }
  expect(ignored).toEqual(expect.arrayContaining(['.git', '**/node_modules', '**/dist', '**/.venv']));
});

it('installs the pinned requirements and no Python package besides', () => {
  const installed = all('RUN').flatMap((rest) => /pip install (.*)$/.exec(rest)?.[1] ?? []);
  expect(installed).toEqual(['--no-cache-dir -r /opt/agentjet/requirements.txt']);
  expect(all('COPY')).toContain('trainer/torch/requirements.txt /opt/agentjet/requirements.txt');
});

it('points the backbone at the interpreter that has them', () => {
  const python = all('ENV').flatMap((rest) => /^AJET_TORCH_PYTHON=(.*)$/.exec(rest)?.[1] ?? []);
  expect(
    all('RUN').some((rest) =>
      rest.includes(`python3 -m venv ${path.posix.dirname(path.posix.dirname(python[0] ?? ''))} `),
    ),
  ).toBe(true);
});

it('has a Node that the packages run on', () => {
  const { engines } = JSON.parse(readText('package.json')) as { readonly engines: { readonly node: string } };
  const least = Number(/^>=(\d+)/.exec(engines.node)?.[1]);
  expect(Number(/node:(\d+)/.exec(all('FROM')[0] ?? '')?.[1])).toBeGreaterThan(least);
});
