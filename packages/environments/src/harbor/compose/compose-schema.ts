import { isJsonObject, z } from '@agentjet/core';
import { logFolders } from '../log-folders.js';
import { secondsOf, splitWords } from './compose-text.js';

/** The keys of a docker-compose.yaml that boxes honour. All other keys are refused by name. Names are those of the file. */

const text = z.union([z.string(), z.number(), z.boolean()]).transform(String);
const words = z.union([z.string().transform(splitWords), z.array(text)]).nullish();
const name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]*$/, 'Give letters, digits, "_", "." and "-"');

const seconds = z.string().transform((given, { addIssue }) => {
  const found = secondsOf(given);
  if (found !== undefined) return found;
  addIssue('Give a time such as 30s or 1m30s');
  return z.NEVER;
});

/** A list of names is short for an object with these keys. */
const namesOr = <T extends z.ZodType>(value: T) =>
  z.preprocess(
    (given) => (Array.isArray(given) ? Object.fromEntries(given.map((each) => [each, undefined])) : (given ?? {})),
    z.record(z.string(), value),
  );

const variables = z.preprocess(
  (given) =>
    Array.isArray(given) ? Object.fromEntries(given.map((each) => splitVariable(String(each)))) : (given ?? {}),
  z.record(z.string(), text.nullable()),
);

/** `NAME=value`, or a name alone, whose value is that of this process. */
function splitVariable(line: string): readonly [string, string | null] {
  const at = line.indexOf('=');
  return at < 0 ? [line, null] : [line.slice(0, at), line.slice(at + 1)];
}

const build = z.preprocess(
  (given) => (typeof given === 'string' ? { context: given } : given),
  z.strictObject({ context: z.string().default('.'), dockerfile: z.string().default('Dockerfile') }),
);

const volume = z.preprocess(
  (given) => (typeof given === 'string' ? readVolume(given) : given),
  z.strictObject({
    type: z.literal('volume', 'Only volumes are honoured'),
    source: z.string().nullish(),
    target: z.string().regex(/^\/[^:]*$/, 'Give a whole path without a colon'), // an engine would read a source before it
    read_only: z.boolean().default(false),
  }),
);

/** `/path`, `name:/path`, `name:/path:ro`. A source with a slash or a dot is a folder of the machine outside. */
function readVolume(given: string): unknown {
  const [source = '', target, mode = 'rw'] = given.split(':');
  if (target === undefined) return { type: 'volume', target: source };
  if (!/^r[ow]$/.test(mode)) return { type: given };
  return {
    type: /[/~]|^\./.test(source) && !isLogFolder(source, target) ? 'bind' : 'volume',
    source,
    target,
    read_only: mode === 'ro',
  };
}

/** Older tasks mount the folders of logs themselves. */
const isLogFolder = (source: string, target: string): boolean => source === target && logFolders.includes(source);

const healthcheck = z.strictObject({
  test: z.union([z.string(), z.array(z.string()).min(1)]).nullish(),
  interval: seconds.default(30),
  timeout: seconds.default(30),
  retries: z.coerce.number().int().min(1).default(3),
  start_period: seconds.default(0),
  start_interval: seconds.nullish(),
  disable: z.boolean().default(false),
});

const service = z.strictObject({
  build: build.nullish(),
  image: z
    .string()
    .regex(/^[^-\s]\S*$/, 'Give the name of an image')
    .nullish(),
  environment: variables,
  command: words,
  entrypoint: words,
  depends_on: namesOr(
    z
      .strictObject({
        condition: z
          .enum(['service_started', 'service_healthy', 'service_completed_successfully'])
          .default('service_started'),
      })
      .prefault({}),
  ),
  healthcheck: healthcheck.nullish(),
  expose: z.array(text).default([]),
  working_dir: z.string().nullish(),
  user: text.nullish(),
  volumes: z.array(volume).default([]),
  networks: namesOr(z.strictObject({ aliases: z.array(name).default([]) }).nullish()),
});

const plain = z.strictObject({}, 'Give no settings').nullish();

const composeFile = z.strictObject({
  version: z.unknown().optional(),
  name: z.unknown().optional(),
  services: z.record(name, service),
  volumes: z.record(name, plain).nullish(),
  networks: z.record(name, plain).nullish(),
});

export type ServiceYaml = z.output<typeof service>;
export type ComposeYaml = z.output<typeof composeFile>;

/** Checks the content of a file. Keys that begin with `x-` are notes of its author. */
export const parseCompose = (value: unknown) => composeFile.safeParse(withoutNotes(value, 2));

function withoutNotes(value: unknown, depth: number): unknown {
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).filter(([key]) => !key.startsWith('x-'));
  if (depth === 0) return Object.fromEntries(kept);
  return Object.fromEntries(kept.map(([key, each]) => [key, withoutNotes(each, depth - 1)]));
}
