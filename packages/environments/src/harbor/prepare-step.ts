import path from 'node:path';
import { EnvironmentOutage } from '@agentjet/core';
import { packFolder, type BoxHost } from '@agentjet/sandbox/boxes';
import { emptyFolders } from './empty-folders.js';
import { asOutage, harborHostOf, lastLineOf } from './box-work.js';
import type { HarborMachine } from './harbor-machine.js';
import { enterNetwork } from './phase-network.js';
import type { HarborStep } from './read-steps.js';
import type { HarborTask } from './read-task.js';
import { waitUntilHealthy } from './wait-until-healthy.js';

export type PrepareStepOptions = {
  readonly engine: BoxHost;
  readonly task: HarborTask;
  readonly step: HarborStep;
  readonly machine: HarborMachine;
  /** True if the tests of the step before were in this machine. The agent must not find them. */
  readonly hadVerifier: boolean;
  readonly signal: AbortSignal;
};

/** Prepares the machine for a step of several: logs are emptied, the files of the step are copied, its set-up runs. */
export async function prepareStep(options: PrepareStepOptions): Promise<void> {
  const { engine, task, step, machine, hadVerifier, signal } = options;
  const { box, workdir } = machine;
  const place = { box, engine: engine.name, task, signal };
  await emptyFolders(['/logs/agent', ...(hadVerifier ? ['/logs/verifier', '/tests'] : [])], place);
  const network = await asOutage(engine.name, () => enterNetwork(machine, task.machine.network, task.name));
  try {
    const { files } = step;
    if (files !== null)
      await asOutage(engine.name, () => box.copyIn(packFolder(path.join(task.folder, files), '.'), workdir));
    if (step.hasSetup) await runSetup(options, network.env);
    const { user } = step.agent;
    const subject = `task ${task.name}`;
    await waitUntilHealthy(machine, {
      healthcheck: step.healthcheck,
      user,
      env: network.env,
      subject,
      task,
      engine,
      signal,
    });
  } finally {
    network.close();
  }
}

async function runSetup(
  { engine, task, step, machine: { box, workdir }, signal }: PrepareStepOptions,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const result = await asOutage(engine.name, () =>
    box.exec(['bash', path.posix.join(workdir, 'setup.sh')], {
      user: step.agent.user,
      cwd: workdir,
      env,
      seconds: task.machine.buildSeconds,
      outputCharacters: 1000,
      signal,
    }),
  );
  if (result.status === 0) return;
  throw new EnvironmentOutage(`setup.sh of step ${step.name} of task ${task.name} failed: ${lastLineOf(result)}`, {
    host: harborHostOf(task),
  });
}
