import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Task } from '@agentjet/core';
import type { OpenAIEndpoint } from '@agentjet/rollout';
import { taskVariables, type WrittenTask } from './task-arguments.js';

export type ProgramEpisode = {
  readonly episodeId: string;
  readonly attempt: number;
  readonly task: Task;
  readonly written: WrittenTask;
  readonly endpoint: OpenAIEndpoint;
  /** A folder for this episode alone. It is removed afterwards. */
  readonly home: string;
};

/**
 * The environment variables of a program: the address and key of its model, as the clients of OpenAI and Anthropic
 * expect them, and the task. Codex and OpenCode also need configuration, as a file or a string; both are created here.
 */
export function environmentOf({
  episodeId,
  attempt,
  task,
  written,
  endpoint,
  home,
}: ProgramEpisode): NodeJS.ProcessEnv {
  const { baseUrl, apiKey, model } = endpoint;
  const { AJET_SWARM_KEY: _secret, ...inherited } = process.env;
  const root = baseUrl.replace(/\/v1$/, '');
  const scratch = path.join(home, 'tmp');
  mkdirSync(scratch, { recursive: true });
  const direct = [process.env['NO_PROXY'], '127.0.0.1', 'localhost'].filter(Boolean).join(',');
  return {
    ...inherited,
    NO_PROXY: direct,
    no_proxy: direct,
    // Codex refuses to run commands if CODEX_HOME is in the folder for temporary files.
    TMPDIR: scratch,
    TEMP: scratch,
    TMP: scratch,
    OPENAI_BASE_URL: baseUrl,
    OPENAI_API_BASE: baseUrl,
    OPENAI_API_KEY: apiKey,
    OPENAI_MODEL: model,
    ANTHROPIC_BASE_URL: root,
    ANTHROPIC_API_KEY: apiKey,
    ANTHROPIC_AUTH_TOKEN: apiKey,
    ANTHROPIC_MODEL: model,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: aside(model), // used for titles and summaries
    DISABLE_TELEMETRY: '1',
    DISABLE_AUTOUPDATER: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    CLAUDE_CONFIG_DIR: path.join(home, 'claude'),
    // By default, OpenCode would keep the sessions of all episodes in one database and read the user's settings.
    XDG_CONFIG_HOME: path.join(home, 'config'),
    XDG_DATA_HOME: path.join(home, 'data'),
    XDG_STATE_HOME: path.join(home, 'state'),
    CODEX_HOME: writeCodexHome(path.join(home, 'codex'), endpoint),
    OPENCODE_CONFIG_CONTENT: JSON.stringify(openCodeConfig(endpoint)),
    AJET_EPISODE_ID: episodeId,
    AJET_ATTEMPT: String(attempt),
    ...taskVariables(task, written),
    AJET_HOME: home,
  };
}

/** The same model under a name that `rollout.untrained_models` matches, so these calls are not trained. */
const aside = (model: string): string => `${model}:untrained`;

function writeCodexHome(dir: string, { baseUrl, model }: OpenAIEndpoint): string {
  mkdirSync(dir, { recursive: true });
  const lines = [
    `model = ${JSON.stringify(model)}`,
    'model_provider = "ajet"',
    '[model_providers.ajet]',
    'name = "ajet"',
    `base_url = ${JSON.stringify(baseUrl)}`,
    'env_key = "OPENAI_API_KEY"',
    'wire_api = "responses"',
  ];
  writeFileSync(path.join(dir, 'config.toml'), `${lines.join('\n')}\n`);
  return dir;
}

/** Creates OpenCode's configuration, with which `opencode run` uses the model without further arguments. */
function openCodeConfig({ baseUrl, apiKey, model }: OpenAIEndpoint): object {
  const options = { baseURL: baseUrl, apiKey };
  const models = Object.fromEntries([model, aside(model)].map((name) => [name, { name }]));
  const provider = { npm: '@ai-sdk/openai-compatible', name: 'ajet', options, models };
  return {
    model: `ajet/${model}`,
    small_model: `ajet/${aside(model)}`,
    provider: { ajet: provider },
    autoupdate: false,
    share: 'disabled',
  };
}
