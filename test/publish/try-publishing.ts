import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommand } from '../bench/first-hour/run-command.js';
import { lastLine } from '../releases/run-node.js';
import { startLoopbackRegistry } from './loopback-registry.js';

/**
 * Publishes all packages to a registry on this machine with the script that the workflow runs. The script runs three
 * times: the first run publishes only a part, as if it had been interrupted, the second run publishes the rest, and the
 * third run has nothing to publish. Then a project in an empty folder installs the packages from this registry and
 * trains one step.
 */

export type Trial = {
  readonly packages: number;
  readonly published_before_the_break: number;
  readonly published_after: number;
  readonly published_again: number;
  readonly steps: number;
};

const root = path.resolve(import.meta.dirname, '../..');
const numBeforeTheBreak = 5;
/**
 * Removes the variables by which npm recognizes a workflow with an identity. With them, npm would write the origin of
 * these trial packages to a public log for ever.
 */
const withoutIdentity = {
  GITHUB_ACTIONS: undefined,
  ACTIONS_ID_TOKEN_REQUEST_URL: undefined,
  ACTIONS_ID_TOKEN_REQUEST_TOKEN: undefined,
};

export async function tryPublishing(say: (line: string) => void): Promise<Trial> {
  const folder = mkdtempSync(path.join(tmpdir(), 'publish-'));
  const upstream = await npmSetting('registry');
  const registry = await startLoopbackRegistry({ upstream });
  const env = { ...withoutIdentity, npm_config_userconfig: await writeSettings(folder, registry.url) };
  const publish = async (...args: readonly string[]): Promise<number> => {
    const line = ['node .ci/publish.mjs --json --registry', registry.url, ...args].join(' ');
    await runCommand(line, { cwd: root, env, onLine: say });
    return registry.published.length;
  };
  try {
    const before = await publish('--first', String(numBeforeTheBreak));
    const after = await publish();
    const again = await publish();
    const steps = await trainOneStep(path.join(folder, 'my-agent'), registry.url);
    return {
      packages: after,
      published_before_the_break: before,
      published_after: after - before,
      published_again: again - after,
      steps,
    };
  } finally {
    await registry.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function npmSetting(name: string): Promise<string> {
  const { output } = await runCommand(`npm config get ${name}`, { cwd: root, env: withoutIdentity });
  return lastLine(output);
}

/**
 * Writes the user's own settings of npm, which may name a proxy, and adds a token. npm does not publish without a
 * token, and this registry ignores it.
 */
async function writeSettings(folder: string, registry: string): Promise<string> {
  const own = await npmSetting('userconfig');
  const file = path.join(folder, 'npmrc');
  const settings = existsSync(own) ? readFileSync(own, 'utf8') : '';
  writeFileSync(file, `${settings}\n//${new URL(registry).host}/:_authToken=trial\n`, { mode: 0o600 });
  return file;
}

/** Runs the commands of the README with this registry. Returns how many steps were trained. */
async function trainOneStep(dir: string, registry: string): Promise<number> {
  mkdirSync(dir, { recursive: true });
  const run = (line: string): ReturnType<typeof runCommand> => runCommand(line, { cwd: dir, env: withoutIdentity });
  await run(`npm install --ignore-scripts --registry ${registry} agentjet @agentjet/cli @agentjet/react`);
  await run('npx ajet init --framework react');
  await run(`npm install --ignore-scripts --registry ${registry}`);
  const small = ['total_training_steps=1', 'val_before_train=false', 'test_freq=0'].map(
    (key) => `trainer_common.${key}`,
  );
  const { output } = await run(`npx ajet --conf agent.yaml data.train_batch_size=2 ${small.join(' ')}`);
  return output.match(/^step +\d+\/\d+/gm)?.length ?? 0;
}
