import path from 'node:path';
import { EnvironmentOutage } from '@agentjet/core';
import { cleanArchive, packFolder, type Box, type BoxHost } from '@agentjet/sandbox/boxes';
import { asOutage, asRoot, engineSeconds, harborHostOf, lastLineOf, wasEnded } from './box-work.js';
import { emptyFolders } from './empty-folders.js';
import { excludedBy } from './excluded-by.js';
import { openMachine, openSecondsOf, removeMachine, type HarborMachine } from './harbor-machine.js';
import { enterNetwork } from './phase-network.js';
import { quote } from './quote.js';
import { readBoxRewards, type Rewards } from './read-reward.js';
import type { Artifact, HarborStep } from './read-steps.js';
import type { HarborTask } from './read-task.js';
import { ignoredIn } from './task-files.js';
import type { CollectToml } from './task-schema.js';
import { resolveVariables } from './variables.js';

/**
 * Scores what an agent did. On a separate machine, the verifier sees only the artifacts. In the agent's machine, every
 * process is ended first and the folders of logs are emptied. In both cases the machine is stopped before the verdict
 * is read.
 */

export type VerifyOptions = {
  readonly engine: BoxHost;
  readonly task: HarborTask;
  /** The step that is scored. */
  readonly step: HarborStep;
  /** True if the agent's machine is not needed afterwards. */
  readonly isLast: boolean;
  readonly machine: HarborMachine;
  readonly episodeId: string;
  /** False: a verifier in the agent's machine runs as in Harbor, next to what the agent left running. */
  readonly isGuarded: boolean;
  readonly signal: AbortSignal;
  readonly onNotice: (message: string) => void;
  /** Called with a further machine, so that its owner removes it even if this call does not end. */
  readonly onMachine: (machine: HarborMachine) => void;
};

export async function verify(options: VerifyOptions): Promise<Rewards> {
  await collect(options, ({ service }) => service === 'main');
  return options.step.verifier.machine === null ? verifyShared(options) : verifySeparate(options);
}

/** The longest time in which a step can be scored. */
export function verifySecondsOf({ verifier }: HarborStep): number {
  const collecting = verifier.collect.reduce((sum, { timeout_sec }) => sum + timeout_sec, 0);
  const opening = verifier.machine === null ? 0 : openSecondsOf(verifier.machine);
  return collecting + opening + verifier.seconds + 4 * engineSeconds;
}

/**
 * Runs the commands that save what the machine holds. A command that fails is reported, and one that is ended before it is
 * done is an outage.
 */
async function collect(
  { engine, task, step, machine, signal, onNotice }: VerifyOptions,
  isMeant: (command: CollectToml) => boolean,
): Promise<void> {
  for (const { command, service, timeout_sec, user } of step.verifier.collect.filter(isMeant)) {
    const result = await asOutage(engine.name, () =>
      boxOf(machine, service).exec(['sh', '-c', command], {
        user: user ?? undefined,
        cwd: service === 'main' ? machine.workdir : undefined,
        seconds: timeout_sec,
        outputCharacters: 1000,
        signal,
      }),
    );
    const subject = `A command of verifier.collect of task ${task.name}`;
    const what = `${command} (${lastLineOf(result)})`;
    if (wasEnded(result)) throw new EnvironmentOutage(`${subject} was ended: ${what}`, { host: harborHostOf(task) });
    if (result.status !== 0) onNotice(`${subject} failed: ${what}`);
  }
}

function boxOf({ box, services }: HarborMachine, service: string): Box {
  if (service === 'main') return box;
  if (services === null) throw new Error(`There is no service ${service}.`);
  return services.boxOf(service);
}

/** The services are read when the agent is over, so that it changes nothing of them any more. */
const collectServices = (options: VerifyOptions): Promise<void> =>
  collect(options, ({ service }) => service !== 'main');

async function verifyShared(options: VerifyOptions): Promise<Rewards> {
  const { engine, task, step, machine, isGuarded, isLast, signal } = options;
  const { box } = machine;
  const isOfSeveral = step.name !== null;
  const place = { box, engine: engine.name, task, signal };
  if (isGuarded) {
    await asOutage(engine.name, () => box.restart());
    await machine.services?.restoreNames();
    const tests = machine.hadTests && !isOfSeveral ? [] : ['/tests'];
    await emptyFolders(['/logs/agent', '/logs/verifier', ...tests], place);
  } else if (isOfSeveral) await emptyFolders(['/logs/verifier', '/tests'], place);
  else await asRoot(box, 'rm -f /logs/verifier/reward.json /logs/verifier/reward.txt', { host: engine.name, signal });
  await collectServices(options);
  await copyTests(options, box);
  const rewards = await runTests(options, machine, { stops: isGuarded || isLast });
  if (isGuarded && !isLast) await asOutage(engine.name, () => box.restart());
  return rewards;
}

async function verifySeparate(options: VerifyOptions): Promise<Rewards> {
  const { engine, task, step, isLast, machine, episodeId, signal, onMachine } = options;
  const spec = step.verifier.machine;
  if (spec === null) throw new Error('A shared verifier has no separate machine.');
  if (isLast) await asOutage(engine.name, () => machine.box.stop());
  const second = await openMachine(engine, spec, {
    task,
    episodeId,
    networks: [spec.network, step.verifier.network],
    lifeSeconds: verifySecondsOf(step),
    signal,
  });
  const { box } = second;
  onMachine(second);
  const artifacts = artifactsOf(step);
  for (const artifact of artifacts.filter(isOfMain)) await copyArtifact(options, box, artifact);
  await collectServices(options);
  for (const artifact of artifacts.filter((each) => !isOfMain(each))) await copyArtifact(options, box, artifact);
  await machine.services?.requireIntact();
  if (!step.verifier.hasTests) await copyTests(options, box);
  const rewards = await runTests(options, second, { stops: true });
  if (!isLast) await asOutage(engine.name, () => removeMachine(second));
  return rewards;
}

const conventional: Artifact = { source: '/logs/artifacts', exclude: [], service: 'main' };

const isOfMain = ({ service }: Artifact): boolean => service === 'main';

/** `/logs/artifacts` always comes along. An artifact inside of another one comes with that one. */
function artifactsOf({ artifacts }: HarborStep): readonly Artifact[] {
  const isConventional = ({ source, service }: Artifact): boolean =>
    service === 'main' && source.replace(/\/+$/, '') === conventional.source;
  return artifacts.some(isConventional) ? artifacts : [conventional, ...artifacts];
}

/** The largest artifact. */
const mostBytes = 16 * 2 ** 30;

async function copyArtifact(
  { engine, task, machine, signal, onNotice }: VerifyOptions,
  target: Box,
  { source, exclude, service }: Artifact,
): Promise<void> {
  const full = path.posix.resolve(machine.workdir, source);
  const place = { host: engine.name, signal };
  await asRoot(target, `rm -rf -- ${quote(full)} && mkdir -p -- ${quote(path.posix.dirname(full))}`, place);
  let refused: readonly string[] = [];
  const copied = await asOutage(engine.name, () =>
    boxOf(machine, service).copyOut(full, async (archive) => {
      const clean = cleanArchive(archive, { target: full.slice(1), leaves: excludedBy(exclude), mostBytes });
      await target.copyIn(clean.stream, '/');
      refused = clean.refused;
      return true;
    }),
  );
  if (copied === null && full !== conventional.source)
    onNotice(
      `${service === 'main' ? 'The agent' : `The service ${service}`} left no ${source}, an artifact of task ${task.name}.`,
    );
  if (refused.length > 0)
    onNotice(
      `${refused.length} entries of ${source} did not reach the verifier of task ${task.name}: ${refused[0]} is a device or a link that leaves the artifact.`,
    );
}

async function copyTests({ engine, task, step }: VerifyOptions, box: Box): Promise<void> {
  for (const folder of step.verifier.tests) {
    const leaves = ignoredIn(task.folder, folder);
    const tests = packFolder(path.join(task.folder, folder), 'tests', { leaves, programs: ['test.sh'] });
    await asOutage(engine.name, () => box.copyIn(tests, '/'));
  }
}

/** The shell says at the end whether there was room to write. A full disk makes honest work fail. */
const testScript = [
  '(/tests/test.sh) > /logs/verifier/test-stdout.txt 2>&1',
  'status=$?',
  'if echo room > /logs/verifier/.room && [ -s /logs/verifier/.room ]; then rm -f /logs/verifier/.room; echo has-room; fi',
  'exit $status',
].join('; ');

async function runTests(
  { engine, task, step, signal }: VerifyOptions,
  machine: HarborMachine,
  { stops }: { readonly stops: boolean },
): Promise<Rewards> {
  const { seconds, user, env, hasTests, network } = step.verifier;
  const { box, workdir, services } = machine;
  const host = harborHostOf(task);
  if (hasTests) await asRoot(box, 'chmod +x /tests/test.sh', { host: engine.name, signal });
  const way = await asOutage(engine.name, () => enterNetwork(machine, network, task.name));
  const run = box.exec(['/bin/sh', '-c', testScript], {
    user,
    cwd: workdir,
    env: { ...way.env, ...resolveVariables(env) },
    seconds,
    outputCharacters: 1000,
    signal,
  });
  const result = await asOutage(engine.name, async () => {
    const ended = await Promise.race([run, way.broken]);
    if (!ended.isOutOfTime) await way.check();
    return ended;
  }).finally(way.close);
  if (result.isOutOfTime)
    throw new EnvironmentOutage(
      `The verifier of task ${task.name} did not end in ${seconds} s (verifier.timeout_sec).`,
      { host },
    );
  if (wasEnded(result)) throw new EnvironmentOutage(`The verifier of task ${task.name} was killed.`, { host });
  if (!result.output.includes('has-room'))
    throw new EnvironmentOutage(`The box of task ${task.name} has no room left to write a verdict.`, { host });
  await services?.requireIntact();
  if (stops) await asOutage(engine.name, () => box.stop());
  return readBoxRewards({ box, engine: engine.name, host });
}
