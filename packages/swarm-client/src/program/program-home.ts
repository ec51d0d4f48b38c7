import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Task } from '@agentjet/core';
import type { OpenAIEndpoint } from '@agentjet/rollout';
import type { ToolServer } from '@agentjet/rollout/inputs';
import { taskVariables, type WrittenTask } from './task-arguments.js';
import { toolServerSettings } from './tool-server-settings.js';

export type ProgramEpisode = {
  readonly episodeId: string;
  readonly attempt: number;
  readonly task: Task;
  readonly written: WrittenTask;
  readonly endpoint: OpenAIEndpoint;
  /** A folder for this episode alone. It is removed afterwards. */
  readonly home: string;
  /** The servers of tools that the program can start or reach. Default: none. */
  readonly toolServers?: readonly ToolServer[];
};

/** What a program is given: environment variables, and files in its home folder by their absolute paths. */
export type ProgramHome = {
  readonly variables: Readonly<Record<string, string>>;
  readonly files: Readonly<Record<string, string>>;
};

/**
 * The address and key of the program's model, as the clients of OpenAI and Anthropic expect them, and the task. Codex and
 * OpenCode also need configuration, as a file or a string.
 */
export function programHome({
  episodeId,
  attempt,
  task,
  written,
  endpoint,
  home,
  toolServers = [],
}: ProgramEpisode): ProgramHome {
  const servers = toolServerSettings(toolServers);
  const claude = path.join(home, 'claude');
  const { baseUrl, apiKey, model } = endpoint;
  const root = baseUrl.replace(/\/v1$/, '');
  const codex = path.join(home, 'codex');
  const direct = [process.env['NO_PROXY'], '127.0.0.1', 'localhost'].filter(Boolean).join(',');
  const variables = {
    NO_PROXY: direct,
    no_proxy: direct,
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
    CLAUDE_CONFIG_DIR: claude,
    // By default, OpenCode would keep the sessions of all episodes in one database and read the user's settings.
    XDG_CONFIG_HOME: path.join(home, 'config'),
    XDG_DATA_HOME: path.join(home, 'data'),
    XDG_STATE_HOME: path.join(home, 'state'),
    CODEX_HOME: codex,
    OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...openCodeConfig(endpoint), ...(servers && { mcp: servers.openCode }) }),
    AJET_EPISODE_ID: episodeId,
    AJET_ATTEMPT: String(attempt),
    ...taskVariables(task, written),
    AJET_HOME: home,
    ...servers?.variables,
  };
  const files = {
    [written.queryFile]: task.mainQuery,
    [written.taskFile]: written.json,
    [path.join(codex, 'config.toml')]: codexConfig(endpoint) + (servers?.codex ?? ''),
    ...(servers && { [path.join(claude, '.claude.json')]: servers.claude }),
  };
  return { variables, files };
}

/** Writes the files of a program on this machine, and returns all of its environment variables. */
export function environmentOf(episode: ProgramEpisode): NodeJS.ProcessEnv {
  const { variables, files } = programHome(episode);
  const { AJET_SWARM_KEY: _secret, ...inherited } = process.env;
  const scratch = path.join(episode.home, 'tmp');
  mkdirSync(scratch, { recursive: true });
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
  // Codex refuses to run commands if CODEX_HOME is in the folder for temporary files.
  return { ...inherited, ...variables, TMPDIR: scratch, TEMP: scratch, TMP: scratch };
}

/** The same model under a name that `rollout.untrained_models` matches, so these calls are not trained. */
const aside = (model: string): string => `${model}:untrained`;

function codexConfig({ baseUrl, model }: OpenAIEndpoint): string {
  const lines = [
    `model = ${JSON.stringify(model)}`,
    'model_provider = "ajet"',
    '[model_providers.ajet]',
    'name = "ajet"',
    `base_url = ${JSON.stringify(baseUrl)}`,
    'env_key = "OPENAI_API_KEY"',
    'wire_api = "responses"',
  ];
  return `${lines.join('\n')}\n`;
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
