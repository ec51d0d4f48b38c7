import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createProgram } from '@agentjet/cli';
import { configuration } from 'agentjet';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { stringsIn } from '../../.ci/passages.mjs';
import { root } from '../../.ci/workspaces.mjs';
import { type Known, wrongMentions } from './find-mentions.js';
import { shippedFiles } from './shipped-files.js';

const files = shippedFiles(root).map((file) => ({ file, source: readFileSync(path.join(root, file), 'utf8') }));

/** Variables that a source reads or sets. A variable that is only named in a message does not count. */
const variables = files.flatMap(({ file, source }) => [
  ...[...source.matchAll(/\benv\.(AJET_[A-Z0-9_]+)|^\s+(AJET_[A-Z0-9_]+):/gm)].map(([, read, set = '']) => read ?? set),
  ...stringsIn(source, file).flatMap(({ text }) => (/^AJET_[A-Z0-9_]+$/.test(text) ? [text] : [])),
]);
const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>;
};
const known: Known = {
  settings: (parse(configuration.writeManual()) as { ajet: Record<string, unknown> }).ajet,
  program: createProgram(() => {}),
  scripts: new Set(Object.keys(manifest.scripts)),
  isVariable: (name) => variables.some((each) => new RegExp(`^${each.replace('X_', '[A-Z]+_')}$`).test(name)),
};

/** A string of several words is a message, a comment of a setting or a help text. */
const messages = files.flatMap(({ file, source }) =>
  stringsIn(source, file)
    .filter(({ text }) => /\S\s+\S/.test(text.trim()))
    .map(({ text, line }) => ({ place: `${file}:${line}`, text })),
);

describe('what a message names', () => {
  it('exists: settings, commands, flags, scripts and environment variables', () => {
    const wrong = messages.flatMap(({ place, text }) => wrongMentions(text, known).map((name) => `${place}: ${name}`));
    expect(messages.length).toBeGreaterThan(2_000);
    expect(wrong).toEqual([]);
  });

  it.each([
    ['Raise rollout.num_repeats.', 'rollout.num_repeats'],
    ['Set ajet.trainer_common.optim.rate to 1e-4.', 'ajet.trainer_common.optim.rate'],
    ['swarm.policies.X.model.paths is not a folder.', 'swarm.policies.X.model.paths'],
    ['rollout.num_repeat.min is 1.', 'rollout.num_repeat.min'],
    ['on_outages=pause waits for it instead.', 'on_outages'],
    ['Run `ajet swarm server --conf X`.', 'ajet swarm server'],
    ['Train it first with ajet train.', 'ajet train'],
    ['`ajet swarm serve --stand-by X` starts it.', 'ajet swarm serve --stand-by'],
    ['`ajet inspect --resume` continues it.', 'ajet inspect --resume'],
    ['Start it again with --resumes.', '--resumes'],
    ['Run npm run setup:tensorflow first.', 'npm run setup:tensorflow'],
    ['Set AJET_PYTORCH_HOME to its folder.', 'AJET_PYTORCH_HOME'],
  ])('is found if it does not exist: %s', (message, name) => {
    expect(wrongMentions(message, known)).toContain(name);
  });

  it.each([
    'Lower rollout.num_repeat, or set trainer_common.optim.lr.',
    'swarm.policies.X.trainer_common.optim.lr is not a number.',
    'task_judge.X.model is not set.',
    'model.safetensors is damaged.',
    'on_outage=pause waits for it instead.',
    'Run `ajet swarm serve --conf X --standby folder`, then ajet inspect X.',
    'Start it again with --resume. "npm run setup:torch" installs Python.',
    'npm install --ignore-scripts --prefix X installs it.',
    'AJET_TORCH_PYTHON names another Python.',
  ])('is not found if it exists: %s', (message) => {
    expect(wrongMentions(message, known)).toEqual([]);
  });
});
