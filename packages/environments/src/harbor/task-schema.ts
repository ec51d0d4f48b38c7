import { z } from '@agentjet/core';

/**
 * The keys of a task.toml of Harbor, schema 1.4 and older. Unknown keys are ignored, as Harbor ignores them. Names are
 * those of the file.
 */

const seconds = z.number().positive();
const user = z.union([z.string().min(1), z.int().min(0)]);
const variables = z.record(z.string(), z.string());

const network = {
  network_mode: z.enum(['public', 'no-network', 'allowlist']).nullish(),
  allowed_hosts: z.array(z.string()).nullish(),
};

const healthcheck = z.object({
  command: z.string(),
  interval_sec: seconds.default(5),
  timeout_sec: seconds.default(30),
  start_period_sec: z.number().min(0).default(0),
  start_interval_sec: seconds.default(5),
  retries: z.int().min(1).default(3),
});

/** `512M`, `2G`, `100K`: the old way to write megabytes. */
const size = z.string().regex(/^\s*\d+(\.\d+)?\s*[gmk]\s*$/i, 'a size such as 2G or 512M');

const toolServer = z.object({
  name: z.string().min(1),
  transport: z
    .enum(['stdio', 'sse', 'streamable-http', 'http'])
    .default('sse')
    .transform((name) => (name === 'http' ? 'streamable-http' : name)),
  url: z.string().nullish(),
  command: z.string().nullish(),
  args: z.array(z.string()).default([]),
  headers: variables.default({}),
});

const environment = z.object({
  ...network,
  build_timeout_sec: seconds.default(600),
  docker_image: z.string().min(1).nullish(),
  os: z.string().default('linux'),
  cpus: z.number().positive().nullish(),
  memory_mb: z.int().positive().nullish(),
  storage_mb: z.int().positive().nullish(),
  memory: size.nullish(),
  storage: size.nullish(),
  gpus: z.int().min(0).nullish(),
  gpu_types: z.array(z.string()).nullish(),
  tpu: z.unknown().optional(),
  mcp_servers: z.array(toolServer).default([]),
  env: variables.default({}),
  skills_dir: z.string().nullish(),
  healthcheck: healthcheck.nullish(),
  workdir: z.string().min(1).nullish(),
  allow_internet: z.boolean().nullish(),
});

const collect = z.object({
  command: z.string(),
  service: z.string().default('main'),
  timeout_sec: seconds.default(60),
  user: user.nullish(),
});

const artifact = z.union([
  z.string(),
  z.object({
    source: z.string().min(1),
    destination: z.string().nullish(),
    exclude: z.array(z.string()).default([]),
    service: z.string().nullish(),
  }),
]);

const agent = z.object({ ...network, timeout_sec: seconds.nullish(), user: user.nullish() });

const verifier = z.object({
  ...network,
  timeout_sec: seconds.default(600),
  env: variables.default({}),
  user: user.nullish(),
  environment_mode: z.enum(['shared', 'separate']).nullish(),
  environment: environment.nullish(),
  collect: z.array(collect).default([]),
});

const step = z.object({
  name: z.string().regex(/^[^<>:"/\\|?*\p{Cc}]*[^<>:"/\\|?*\p{Cc}. ]$/u, 'the name of a folder'),
  agent: agent.default({}),
  verifier: verifier.prefault({}),
  min_reward: z.union([z.number(), z.record(z.string(), z.number())]).nullish(),
  healthcheck: healthcheck.nullish(),
  artifacts: z.array(artifact).default([]),
});

export const taskFileSchema = z.object({
  schema_version: z.string().optional(),
  version: z.string().optional(),
  task: z.object({ name: z.string(), version: z.string().nullish() }).nullish(),
  metadata: z.record(z.string(), z.unknown()).default({}),
  source: z.string().nullish(),
  agent: agent.default({}),
  verifier: verifier.prefault({}),
  environment: environment.prefault({}),
  solution: z.object({ env: variables.default({}) }).prefault({}),
  steps: z.array(step).nullish(),
  multi_step_reward_strategy: z.enum(['mean', 'final']).nullish(),
  artifacts: z.array(artifact).default([]),
});

export type TaskToml = z.output<typeof taskFileSchema>;
export type EnvironmentToml = z.output<typeof environment>;
export type ToolServerToml = z.output<typeof toolServer>;
export type NetworkToml = z.output<z.ZodObject<typeof network>>;
export type VerifierToml = z.output<typeof verifier>;
export type CollectToml = z.output<typeof collect>;
export type StepToml = z.output<typeof step>;
export type ArtifactToml = z.output<typeof artifact>;

/** Returns megabytes from the present key or the old one. */
export function megabytesOf(present: number | null | undefined, old: string | null | undefined): number | undefined {
  if (present !== null && present !== undefined) return present;
  const [, number, unit = ''] = /^\s*([\d.]+)\s*([gmk])/i.exec(old ?? '') ?? [];
  if (number === undefined) return undefined;
  const factor = { g: 1024, m: 1, k: 1 / 1024 }[unit.toLowerCase()] ?? 1;
  return Math.max(1, Math.floor(Number(number) * factor));
}
