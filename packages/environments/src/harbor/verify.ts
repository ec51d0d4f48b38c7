import path from 'node:path';
import { EnvironmentOutage, type Verdict } from '@agentjet/core';
import { cleanArchive, listArchive, packFolder, type Box, type BoxEngine } from '@agentjet/sandbox/boxes';
import {
  asOutage,
  asRoot,
  engineSeconds,
  harborHostOf,
  lastLineOf,
  openMachine,
  openSecondsOf,
  quote,
  type HarborMachine,
} from './harbor-machine.js';
import { excludedBy } from './excluded-by.js';

import { readBoxReward } from './read-reward.js';
import { resolveVariables, type Artifact, type HarborTask } from './read-task.js';
import { ignoredIn } from './task-files.js';

/**
 * Scores what an agent did. On a separate machine, the verifier sees only the artifacts. In the agent's machine, every
 * process is ended first and the folders of logs are emptied. In both cases the machine is stopped before the verdict
 * is read.
 */

export type VerifyOptions = {
  readonly engine: BoxEngine;
  readonly task: HarborTask;
  readonly machine: HarborMachine;
  readonly episodeId: string;
  /** False: a verifier in the agent's machine runs as in Harbor, next to what the agent left running. */
  readonly isGuarded: boolean;
  readonly signal: AbortSignal;
  readonly onNotice: (message: string) => void;
  /** Called with a further box, so that its owner removes it even if this call does not end. */
  readonly onBox: (box: Box) => void;
};

export async function verify(options: VerifyOptions): Promise<Verdict> {
  await collect(options);
  return options.task.verifier.machine === null ? verifyShared(options) : verifySeparate(options);
}

/** The longest time in which a verdict can be given. */
export function verifySecondsOf({ verifier }: HarborTask): number {
  const collecting = verifier.collect.reduce((sum, { timeout_sec }) => sum + timeout_sec, 0);
  const opening = verifier.machine === null ? 0 : openSecondsOf(verifier.machine);
  return collecting + opening + verifier.seconds + 4 * engineSeconds;
}

/** Runs the commands that save what the machine holds. A command that fails is reported and not the agent's failure. */
async function collect({ engine, task, machine, signal, onNotice }: VerifyOptions): Promise<void> {
  for (const { command, timeout_sec, user } of task.verifier.collect) {
    const result = await asOutage(engine.name, () =>
      machine.box.exec(['sh', '-c', command], {
        user: user ?? undefined,
        cwd: machine.workdir,
        seconds: timeout_sec,
        outputCharacters: 1000,
        signal,
      }),
    );
    if (result.status !== 0)
      onNotice(`A command of verifier.collect of task ${task.name} failed: ${command} (${lastLineOf(result)})`);
  }
}

async function verifyShared(options: VerifyOptions): Promise<Verdict> {
  const { engine, task, machine, isGuarded, signal } = options;
  const { box } = machine;
  if (isGuarded) {
    await asOutage(engine.name, () => box.restart());
    await empty(options, ['/logs/agent', '/logs/verifier', ...(machine.hadTests ? [] : ['/tests'])]);
  } else {
    await asRoot(box, 'rm -f /logs/verifier/reward.json /logs/verifier/reward.txt', { host: engine.name, signal });
  }
  await asOutage(engine.name, () => box.setNetwork(task.verifier.network));
  await copyTests(options, box);
  return runTests(options, machine);
}

/** Empties folders in the agent's machine, and lets the engine check it, because the agent may have replaced `rm`. */
async function empty(
  { engine, task, machine: { box }, signal }: VerifyOptions,
  folders: readonly string[],
): Promise<void> {
  const logs = folders.filter((folder) => folder.startsWith('/logs/')).join(' ');
  await asRoot(box, `rm -rf ${folders.join(' ')} && mkdir -p ${logs} && chmod 777 ${logs}`, {
    host: engine.name,
    signal,
  });
  for (const folder of folders) {
    const found = await asOutage(engine.name, () => box.copyOut(folder, listArchive));
    const isEmpty = folder === '/tests' ? found === null : found?.length === 1 && found[0]?.type === 'directory';
    if (!isEmpty)
      throw new EnvironmentOutage(
        `${folder} in the box of task ${task.name} could not be emptied before the verifier.`,
        {
          host: harborHostOf(task),
        },
      );
  }
}

async function verifySeparate(options: VerifyOptions): Promise<Verdict> {
  const { engine, task, machine, episodeId, signal, onBox } = options;
  const spec = task.verifier.machine;
  if (spec === null) throw new Error('A shared verifier has no separate machine.');
  await asOutage(engine.name, () => machine.box.stop());
  const second = await openMachine(engine, spec, {
    task,
    episodeId,
    networks: [spec.network, task.verifier.network],
    lifeSeconds: verifySecondsOf(task),
    signal,
  });
  const { box } = second;
  onBox(box);
  for (const artifact of artifactsOf(task)) await copyArtifact(options, box, artifact);
  if (!task.verifier.hasTests) await copyTests(options, box);
  await asOutage(engine.name, () => box.setNetwork(task.verifier.network));
  return runTests(options, second);
}

const conventional: Artifact = { source: '/logs/artifacts', exclude: [] };

/** `/logs/artifacts` always comes along. An artifact inside of another one comes with that one. */
function artifactsOf({ artifacts }: HarborTask): readonly Artifact[] {
  const isConventional = ({ source }: Artifact): boolean => source.replace(/\/+$/, '') === conventional.source;
  return artifacts.some(isConventional) ? artifacts : [conventional, ...artifacts];
}

/** The largest artifact. */
const mostBytes = 16 * 2 ** 30;

async function copyArtifact(
  { engine, task, machine, signal, onNotice }: VerifyOptions,
  target: Box,
  { source, exclude }: Artifact,
): Promise<void> {
  const full = path.posix.resolve(machine.workdir, source);
  const place = { host: engine.name, signal };
  await asRoot(target, `rm -rf -- ${quote(full)} && mkdir -p -- ${quote(path.posix.dirname(full))}`, place);
  let refused: readonly string[] = [];
  const copied = await asOutage(engine.name, () =>
    machine.box.copyOut(full, async (archive) => {
      const clean = cleanArchive(archive, { target: full.slice(1), leaves: excludedBy(exclude), mostBytes });
      await target.copyIn(clean.stream, '/');
      refused = clean.refused;
      return true;
    }),
  );
  if (copied === null && full !== conventional.source)
    onNotice(`The agent left no ${source}, an artifact of task ${task.name}.`);
  if (refused.length > 0)
    onNotice(
      `${refused.length} entries of ${source} did not reach the verifier of task ${task.name}: ${refused[0]} is a device or a link that leaves the artifact.`,
    );
}

async function copyTests({ engine, task }: VerifyOptions, box: Box): Promise<void> {
  const folder = path.join(task.folder, 'tests');
  const tests = packFolder(folder, 'tests', { leaves: ignoredIn(task.folder, 'tests'), programs: ['test.sh'] });
  await asOutage(engine.name, () => box.copyIn(tests, '/'));
}

/** The shell says at the end whether there was room to write. A full disk makes honest work fail. */
const testScript = [
  '(/tests/test.sh) > /logs/verifier/test-stdout.txt 2>&1',
  'if echo room > /logs/verifier/.room && [ -s /logs/verifier/.room ]; then rm -f /logs/verifier/.room; echo has-room; fi',
].join('; ');

async function runTests({ engine, task, signal }: VerifyOptions, { box, workdir }: HarborMachine): Promise<Verdict> {
  const { seconds, user, env } = task.verifier;
  const host = harborHostOf(task);
  if (task.verifier.hasTests) await asRoot(box, 'chmod +x /tests/test.sh', { host: engine.name, signal });
  const result = await asOutage(engine.name, () =>
    box.exec(['/bin/sh', '-c', testScript], {
      user,
      cwd: workdir,
      env: resolveVariables(env),
      seconds,
      outputCharacters: 1000,
      signal,
    }),
  );
  if (result.isOutOfTime)
    throw new EnvironmentOutage(
      `The verifier of task ${task.name} did not end in ${seconds} s (verifier.timeout_sec).`,
      { host },
    );
  if (!result.hasReported) throw new EnvironmentOutage(`The verifier of task ${task.name} was killed.`, { host });
  if (!result.output.includes('has-room'))
    throw new EnvironmentOutage(`The box of task ${task.name} has no room left to write a verdict.`, { host });
  await asOutage(engine.name, () => box.stop());
  return readBoxReward({ box, engine: engine.name, host });
}
