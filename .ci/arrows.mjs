// This table lists which of our packages each package may import. The lowest package comes first, and a package imports
// only packages above its own line, so the table cannot contain a cycle. AGENTS.md and README.md list the packages in
// this order.
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';

/** @type {Record<string, readonly string[]>} */
export const arrows = {
  '@agentjet/core': [],
  '@agentjet/run-folder': ['@agentjet/core'],
  '@agentjet/probe': ['@agentjet/core'],
  '@agentjet/diagnose': ['@agentjet/run-folder', '@agentjet/core'],
  '@agentjet/model-hub': ['@agentjet/run-folder', '@agentjet/core'],
  '@agentjet/ledger': ['@agentjet/core'],
  '@agentjet/swarm-wire': ['@agentjet/core'],
  '@agentjet/tokenizer': ['@agentjet/core'],
  '@agentjet/context-tracker': ['@agentjet/tokenizer', '@agentjet/core'],
  '@agentjet/rollout': ['@agentjet/context-tracker', '@agentjet/tokenizer', '@agentjet/core'],
  '@agentjet/model-client': ['@agentjet/core'],
  '@agentjet/sandbox': ['@agentjet/core'],
  '@agentjet/data': ['@agentjet/rollout', '@agentjet/model-hub', '@agentjet/core'],
  '@agentjet/generation': ['@agentjet/data', '@agentjet/rollout', '@agentjet/model-client', '@agentjet/core'],
  '@agentjet/traces': ['@agentjet/data', '@agentjet/rollout', '@agentjet/model-client', '@agentjet/core'],
  '@agentjet/judges': ['@agentjet/rollout', '@agentjet/model-client', '@agentjet/sandbox', '@agentjet/core'],
  '@agentjet/environments': ['@agentjet/rollout', '@agentjet/core'],
  '@agentjet/chat-completions': ['@agentjet/core'],
  '@agentjet/endpoint': ['@agentjet/rollout', '@agentjet/chat-completions', '@agentjet/core'],
  '@agentjet/swarm-client': [
    '@agentjet/swarm-wire',
    '@agentjet/rollout',
    '@agentjet/endpoint',
    '@agentjet/model-client',
    '@agentjet/context-tracker',
    '@agentjet/core',
  ],
  '@agentjet/adapter-kit': ['@agentjet/rollout', '@agentjet/core'],
  '@agentjet/trackers': ['@agentjet/core'],
  '@agentjet/nano': [],
  '@agentjet/micro': [],
  '@agentjet/trainer': ['@agentjet/run-folder', '@agentjet/core'],
  '@agentjet/gguf': ['@agentjet/trainer', '@agentjet/run-folder', '@agentjet/core'],
  '@agentjet/records': [
    '@agentjet/trainer',
    '@agentjet/ledger',
    '@agentjet/rollout',
    '@agentjet/context-tracker',
    '@agentjet/run-folder',
    '@agentjet/core',
  ],
  '@agentjet/run': ['@agentjet/ledger', '@agentjet/trainer', '@agentjet/run-folder', '@agentjet/core'],
  '@agentjet/session': [
    '@agentjet/records',
    '@agentjet/run',
    '@agentjet/data',
    '@agentjet/rollout',
    '@agentjet/model-client',
    '@agentjet/trainer',
    '@agentjet/run-folder',
    '@agentjet/diagnose',
    '@agentjet/model-hub',
    '@agentjet/gguf',
    '@agentjet/ledger',
    '@agentjet/endpoint',
    '@agentjet/chat-completions',
    '@agentjet/context-tracker',
    '@agentjet/tokenizer',
    '@agentjet/nano',
    '@agentjet/micro',
    '@agentjet/core',
  ],
  '@agentjet/swarm-server': [
    '@agentjet/records',
    '@agentjet/run',
    '@agentjet/session',
    '@agentjet/endpoint',
    '@agentjet/chat-completions',
    '@agentjet/rollout',
    '@agentjet/trainer',
    '@agentjet/run-folder',
    '@agentjet/context-tracker',
    '@agentjet/ledger',
    '@agentjet/swarm-wire',
    '@agentjet/core',
  ],
  agentjet: [
    '@agentjet/session',
    '@agentjet/trackers',
    '@agentjet/judges',
    '@agentjet/generation',
    '@agentjet/traces',
    '@agentjet/data',
    '@agentjet/model-client',
    '@agentjet/environments',
    '@agentjet/rollout',
    '@agentjet/trainer',
    '@agentjet/endpoint',
    '@agentjet/tokenizer',
    '@agentjet/core',
  ],
  '@agentjet/inspect': [
    '@agentjet/run-folder',
    '@agentjet/model-hub',
    '@agentjet/context-tracker',
    '@agentjet/tokenizer',
    '@agentjet/nano',
    '@agentjet/micro',
    '@agentjet/core',
  ],
  '@agentjet/cli': [
    'agentjet',
    '@agentjet/session',
    '@agentjet/model-client',
    '@agentjet/swarm-server',
    '@agentjet/swarm-client',
    '@agentjet/inspect',
    '@agentjet/ledger',
    '@agentjet/trackers',
    '@agentjet/core',
  ],
  '@agentjet/openai': ['@agentjet/rollout', '@agentjet/chat-completions', '@agentjet/core'],
};

/** An adapter imports these in addition to its framework, unless it has its own line above. */
export const adapterArrows = ['@agentjet/adapter-kit', '@agentjet/rollout', '@agentjet/core'];

const adapters = path.join(path.dirname(import.meta.dirname), 'adapters');
for (const folder of readdirSync(adapters).sort())
  if (existsSync(path.join(adapters, folder, 'package.json'))) arrows[`@agentjet/${folder}`] ??= adapterArrows;

/**
 * Folders without a package may import these folders (`.` is the root itself). They also import packages, through the
 * packages' entry points. No package imports from them.
 * @type {Readonly<Record<string, readonly string[]>>}
 */
export const roomArrows = {
  '.': ['.ci'],
  '.ci': ['test'],
  tutorial: [],
  examples: ['tutorial'],
  test: ['.', '.ci', 'tutorial'],
};
