import { ConfigError, sectionOf, setting, z, type CommonConfig, type OpenableEntry } from '@agentjet/core';
import { defineReader, type Environment, type EnvironmentParts, type TaskReader } from '@agentjet/rollout/inputs';
import { agentjet } from '../agentjet/registration.js';
import { appworld } from '../appworld/registration.js';
import { mcp } from '../mcp/registration.js';
import { openenv } from '../openenv/registration.js';

type Entry = OpenableEntry<EnvironmentParts, Environment>;
const entries = { agentjet, openenv, mcp, appworld } satisfies Readonly<Record<string, Entry>>;
type Protocol = keyof typeof entries;

const name = z.string().min(1);

/** Reads tasks from an environment. With `env_url`, the reader opens the environment too. Its other settings are `environment.<protocol>`. */
export const envService = defineReader({
  name: 'env_service',
  section: z
    .strictObject({
      env_url: setting(name.nullable(), null, 'null: the environment that environment.protocol names'),
      protocol: setting(z.enum(['agentjet', 'openenv', 'mcp', 'appworld']), 'agentjet', 'of env_url'),
      env_type: setting(name.nullable(), null, "the server's name for the environment"),
      training_split: setting(name, 'train'),
      validation_split: setting(name.nullable(), 'dev', 'null: no evaluation'),
    })
    .describe('tasks from an environment; a question arrives when its session opens'),
  async open({ envUrl, protocol, envType, trainingSplit, validationSplit }, { config, environment: configured }) {
    const environment = envUrl === null ? configured : await openAt({ envUrl, protocol, envType }, config);
    if (environment === undefined)
      throw new ConfigError(
        'no_environment',
        'task_reader.type is env_service, but there is no environment. Set task_reader.env_service.env_url, or environment.protocol.',
      );
    if (environment.tasks === undefined)
      throw new ConfigError(
        'unsupported',
        `${environment.name ?? 'The environment'} lists no tasks. These protocols list tasks: agentjet, openenv with env_type, and appworld with datasets. Read tasks with another task_reader.type, and name the environment in environment.protocol.`,
      );
    return createEnvironmentReader(environment, { trainingSplit, validationSplit });
  },
});

async function openAt(
  given: { readonly envUrl: string; readonly protocol: Protocol; readonly envType: string | null },
  config: CommonConfig,
): Promise<Environment> {
  const { envUrl, protocol, envType } = given;
  const entry: Entry = entries[protocol];
  const section = {
    ...sectionOf(config, 'environments', entry),
    ...(protocol === 'appworld' ? { urls: envUrl.split(',').map((url) => url.trim()) } : { url: envUrl }),
    ...(envType !== null && (protocol === 'agentjet' || protocol === 'openenv') && { envType }),
  };
  return entry.open(section as never, { config });
}

function createEnvironmentReader(
  environment: Environment,
  splits: { readonly trainingSplit: string; readonly validationSplit: string | null },
): TaskReader {
  const tasks = async function* (split: string | null) {
    if (split !== null && environment.tasks !== undefined) yield* environment.tasks(split);
  };
  return {
    trainingTasks: () => tasks(splits.trainingSplit),
    evaluationTasks: () => tasks(splits.validationSplit),
    environment,
  };
}
