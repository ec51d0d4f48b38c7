import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { nodeFlags } from '../bench/swarm/server-process.js';
import { findCommand } from './find-command.js';

const root = path.resolve(import.meta.dirname, '../..');
const readText = (file: string): string => readFileSync(path.join(root, file), 'utf8');

type Instruction = { readonly name: string; readonly rest: string };

/** Returns the lines without comments; lines that end in a backslash are joined. */
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

type Dockerfile = {
  readonly instructions: readonly Instruction[];
  /** Returns what follows each instruction of a name. */
  readonly all: (name: string) => readonly string[];
};

function readDockerfile(file: string): Dockerfile {
  const instructions = readInstructions(readText(file));
  return {
    instructions,
    all: (wanted) => instructions.filter(({ name }) => name === wanted).map(({ rest }) => rest),
  };
}

const ignored = readText('.dockerignore')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));

const images = {
  'trainer/torch/Dockerfile': ['node:24-bookworm-slim', 'nvidia/cuda:13.0.1-base-ubuntu24.04'],
  'deploy/Dockerfile': ['node:22-bookworm-slim', 'node:22-bookworm-slim'],
};

describe.each(Object.entries(images))('%s', (file, versions) => {
  const { instructions, all } = readDockerfile(file);

  it('has only instructions that Docker knows, and begins with an image', () => {
    const known = ['FROM', 'RUN', 'COPY', 'ENV', 'WORKDIR', 'ENTRYPOINT', 'CMD', 'USER', 'VOLUME', 'STOPSIGNAL'];
    expect(instructions.filter(({ name }) => !known.includes(name))).toEqual([]);
    expect(instructions[0]?.name).toBe('FROM');
  });

  it('names a version of each image', () => {
    expect(all('FROM').map((rest) => rest.split(' ')[0])).toEqual(versions);
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

  it('has a Node that the packages run on', () => {
    const { engines } = JSON.parse(readText('package.json')) as { readonly engines: { readonly node: string } };
    const least = Number(/^>=(\d+)/.exec(engines.node)?.[1]);
    expect(Number(/node:(\d+)/.exec(all('FROM')[0] ?? '')?.[1])).toBeGreaterThan(least);
  });

  it('runs scripts and files that a fresh clone has', () => {
    const { scripts } = JSON.parse(readText('package.json')) as { readonly scripts: Readonly<Record<string, string>> };
    for (const [, name = ''] of all('RUN')
      .join('\n')
      .matchAll(/npm run ([\w:-]+)/g))
      expect(scripts).toHaveProperty(name);
    for (const [, name = ''] of all('RUN')
      .join('\n')
      .matchAll(/\bnode (\S+)/g))
      expect([name, existsSync(path.join(root, name))]).toEqual([name, true]);
  });
});

describe('the image of the worker', () => {
  const { all } = readDockerfile('trainer/torch/Dockerfile');

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
});

it('the image of a swarm server starts the built command with flags and keys that it has', () => {
  const { all } = readDockerfile('deploy/Dockerfile');
  const words = (name: string): readonly string[] => JSON.parse(all(name).at(-1) ?? '[]') as readonly string[];
  const [node, flag, main = '', ...names] = words('ENTRYPOINT');
  expect([node, [flag]]).toEqual(['node', nodeFlags]);
  expect(existsSync(path.join(root, main.replace('/dist/', '/src/').replace(/\.js$/, '.ts')))).toBe(true);
  const command = findCommand(names);
  const flags = words('CMD').filter((word) => word.startsWith('--'));
  expect(command?.options.map(({ long }) => long)).toEqual(expect.arrayContaining([...flags]));
  const text = readText('deploy/Dockerfile');
  const [, uid] = /useradd .*--uid (\d+)/.exec(text) ?? [];
  expect(text).toContain(`chown ${uid} runs`); // the server must be able to write to a folder of the host
  const keys = words('CMD').flatMap((word) => /^([a-z_.]+)=/.exec(word)?.[1] ?? []);
  expect(keys).toEqual(['experiment_dir']);
  expect(readText('packages/agentjet/default.yaml')).toMatch(/^ {2}experiment_dir:/m);
});
