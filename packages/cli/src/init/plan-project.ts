import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { isBundledModel, quoteForShell } from '@agentjet/core';

/** Plans the files that `ajet init` writes, as text. The templates are files, so an editor can read them. */

/** The packages that the agent of each framework needs, in the versions with which the templates were tested. */
const frameworkPackages = {
  langgraph: { '@langchain/core': '1.2.13', '@langchain/langgraph': '1.4.17', langchain: '1.5.14', zod: '4.6.7' },
  openai: { openai: '6.49.0' },
  google: { '@google/genai': '2.32.0' },
  anthropic: { '@anthropic-ai/sdk': '1.12.0' },
  'ai-sdk': { ai: '6.0.326', zod: '4.6.7' },
  'openai-agents': { '@openai/agents': '0.20.0', zod: '4.6.7' },
  react: {},
} as const;

export type Framework = keyof typeof frameworkPackages;

export const frameworks: readonly string[] = Object.keys(frameworkPackages);

export function isFramework(name: string): name is Framework {
  return Object.hasOwn(frameworkPackages, name);
}

export type Project = {
  /** Contents by path, relative to the project's folder, with `/`. */
  readonly files: ReadonlyMap<string, string>;
  /** Versions by package. */
  readonly dependencies: Readonly<Record<string, string>>;
  /** The value of `model.path`. */
  readonly model: string;
};

export type PlanOptions = {
  /** The name of the project's package. */
  readonly name: string;
  /** The version of our packages. */
  readonly version: string;
  /** The value of `model.path`. Default: nano. */
  readonly model?: string;
  /** Whether the model is a file or folder, so that there is nothing to download. */
  readonly isModelHere?: boolean;
};

export function planProject(framework: Framework, options: PlanOptions): Project {
  const { name, version, model = 'nano', isModelHere = false } = options;
  const dependencies = {
    agentjet: version,
    '@agentjet/cli': version,
    // The configuration has the default backbone, which `agentjet` does not install.
    '@agentjet/onnx': version,
    [`@agentjet/${framework}`]: version,
    ...frameworkPackages[framework],
  };
  const manifest = {
    name,
    private: true,
    type: 'module',
    scripts: {
      start: 'ajet --conf agent.yaml',
      probe: 'ajet probe agent.yaml',
      debug: 'ajet --conf agent.yaml --backbone=debug',
      train: 'ajet --conf agent.yaml',
    },
    dependencies,
    // Forbids install scripts. No package needs its script, and that of onnxruntime-node downloads CUDA libraries that
    // are not used here.
    allowScripts: { 'onnxruntime-node': false, esbuild: false, lmdb: false, 'msgpackr-extract': false },
  };
  const files = new Map([
    ...readTemplates('all'),
    // Use other settings and agents for the included models, which learn at a higher rate and need no examples.
    ...readTemplates(isBundledModel(model) ? 'tiny' : 'real').map(
      ([file, text]) => [file, fillModel(text, { model, isModelHere })] as const,
    ),
    ...readTemplates(framework),
    ['package.json', `${JSON.stringify(manifest, null, 2)}\n`] as const,
  ]);
  return { files, dependencies, model };
}

type GivenModel = { readonly model: string; readonly isModelHere: boolean };

function fillModel(text: string, { model, isModelHere }: GivenModel): string {
  const get = `npx ajet model get ${quoteForShell(model)}`;
  const download = isModelHere ? '' : `${get.padEnd(46)} # downloads the model, once\n`;
  const inYaml = /^[A-Za-z][\w./@-]*$/.test(model) ? model : JSON.stringify(model);
  return text
    .replaceAll('{{model.download}}', () => download)
    .replaceAll('{{model.yaml}}', () => inYaml)
    .replaceAll('{{model.shell}}', () => quoteForShell(model));
}

const templatesDir = fileURLToPath(new URL('../../templates', import.meta.url));
const suffix = '.template';

function readTemplates(folder: string): readonly (readonly [string, string])[] {
  const dir = path.join(templatesDir, folder);
  const names = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith(suffix));
  return names
    .sort()
    .map((name) => [
      name.slice(0, -suffix.length).replaceAll(path.sep, '/'),
      readFileSync(path.join(dir, name), 'utf8'),
    ]);
}
