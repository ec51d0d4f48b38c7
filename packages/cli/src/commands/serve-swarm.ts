import { ConfigError } from '@agentjet/core';
import {
  parseRewind,
  serveStandby,
  serveSwarm,
  type Log,
  type Notice,
  type ServedSwarm,
  type ServeSwarmOptions,
} from '@agentjet/swarm-server';
import { loadRunFollower } from '@agentjet/trackers';
import { configuration } from 'agentjet';
import { showCommand } from 'agentjet/printing';
import { runInterruptibly, untilAborted } from '../interrupt.js';
import { createLog } from '../log-lines.js';
import { createOutput } from '../output.js';
import type { SwarmFlags } from '../swarm-program.js';
import { loadJob } from './load-job.js';
import { toNumber, toPort } from './read-flags.js';
import { checkStudioFlags, startStudio } from './start-studio.js';

/** `ajet swarm serve` serves and trains until a signal arrives. Returns the exit code. */
export async function serveSwarmJob(overrides: readonly string[], flags: SwarmFlags): Promise<number> {
  const output = createOutput(flags);
  checkStudioFlags(flags);
  const log = createLog(flags);
  const say: Notice = (message, level = 'info') => log({ level, message });
  const drainMs = 1000 * toNumber(flags.drainSeconds ?? '30', '--drain-seconds', { least: 0 });
  return runInterruptibly(
    () =>
      say(
        'Stopping. Acknowledged episodes are kept, and the same command continues the run. SIGTERM lets running episodes end first.',
      ),
    async (signal) => {
      if (flags.standby !== undefined) return standBy(flags, { output, signal, drainMs, log, say });
      const { config } = loadJob({ ...flags, conf: requireConf(flags) }, overrides);
      const swarm = await serveSwarm({
        ...toOptions(flags),
        config,
        composition: configuration,
        signal,
        follow: loadRunFollower,
        onNotice: say,
        onLog: log,
      });
      const { url, firstKey } = swarm.server;
      say(`${swarm.isResumed ? 'Continuing' : 'New run'} ${swarm.runDir}`);
      say(`Serving the swarm at ${url}`);
      showRun(swarm.runDir, flags, { say, url, key: firstKey });
      sayKey(flags, firstKey, say);
      output.writeJson({ url, key: firstKey ?? null, run_dir: swarm.runDir });
      const deposed = await Promise.race([untilAborted(signal), swarm.server.deposed]);
      if (isSigterm(signal)) await swarm.server.finish(drainMs);
      await swarm.close();
      if (deposed !== undefined) throw deposed;
      return 0;
    },
    { codes: { SIGTERM: 0 } },
  );
}

/**
 * Whether SIGTERM ends the server, so that running episodes may end first. A service manager expects that, and a person
 * who presses Ctrl-C expects an immediate end.
 */
const isSigterm = ({ reason }: AbortSignal): boolean => reason instanceof Error && reason.message.endsWith('SIGTERM');

/** Runs a server without a run until a commander sends one. */
async function standBy(flags: SwarmFlags, { output, signal, drainMs, log, say }: StandbyParts): Promise<number> {
  const dir = flags.standby ?? '';
  const standby = await serveStandby({
    ...toOptions(flags),
    port: toPort(flags.port ?? '8700'),
    dir,
    composition: configuration,
    drainMs,
    allowsCode: flags.allowCode === true,
    follow: loadRunFollower,
    onNotice: say,
    onLog: log,
  });
  say(`Waiting for a run at ${standby.url}, or continuing the one in ${dir}`);
  showRun(dir, flags, { say, url: standby.url, key: standby.firstKey });
  sayKey(flags, standby.firstKey, say);
  output.writeJson({ url: standby.url, key: standby.firstKey ?? null, run_dir: null });
  const failure = await Promise.race([untilAborted(signal), standby.failed]);
  if (failure !== undefined) throw failure;
  if (isSigterm(signal)) await finish(standby.served, drainMs);
  await standby.close();
  return 0;
}

type Shown = { readonly say: Notice; readonly url: string; readonly key: string | undefined };

/** Opens the studio, or prints the command that opens it. The studio ends with this process. */
function showRun(dir: string, flags: SwarmFlags, { say, ...swarm }: Shown): void {
  if (flags.studio === true) startStudio(dir, flags, { writeLine: say, swarm });
  else say(showCommand(dir));
}

/** With --json, the line on stdout contains the key, so the key is not shown a second time. */
function sayKey(flags: SwarmFlags, key: string | undefined, say: Notice): void {
  if (key !== undefined && flags.json !== true) say(`key of the commander, shown only now: ${key}`);
}

type StandbyParts = {
  readonly output: ReturnType<typeof createOutput>;
  readonly signal: AbortSignal;
  readonly drainMs: number;
  readonly log: Log;
  readonly say: Notice;
};

async function finish(served: Promise<ServedSwarm>, drainMs: number): Promise<void> {
  const swarm = await Promise.race([served, Promise.resolve(undefined)]);
  await swarm?.server.finish(drainMs);
}

function requireConf({ conf, allowCode }: SwarmFlags): string {
  if (allowCode === true)
    throw new ConfigError(
      'wrong_value',
      '--allow-code is for a server that waits for its run. Remove it, or replace --conf with --standby <folder>.',
    );
  if (conf !== undefined) return conf;
  throw new ConfigError('no_conf', 'Name the run with --conf <file.yaml>, or wait for a run with --standby <folder>.');
}

function toOptions(flags: SwarmFlags): Partial<ServeSwarmOptions<never>> {
  const { tlsCert, tlsKey } = flags;
  if ((tlsCert === undefined) !== (tlsKey === undefined))
    throw new ConfigError('wrong_value', 'TLS needs two files. Set both --tls-cert and --tls-key.');
  return {
    port: toPort(flags.port ?? '8700'),
    ...(flags.host !== undefined && { hostname: flags.host }),
    ...(flags.run !== undefined && { run: flags.run }),
    ...(flags.new === true && { isNew: true }),
    ...(flags.from !== undefined && { rewindTo: parseRewind(flags.from) }),
    ...(flags.takeOver === true && { takeOver: true }),
    ...(tlsCert !== undefined && tlsKey !== undefined && { tls: { cert: tlsCert, key: tlsKey } }),
    ...(flags.behindProxy === true && { isBehindProxy: true }),
    app: {
      needsKey: flags.keys !== false,
      ...(flags.publicUrl !== undefined && { origin: flags.publicUrl.replace(/\/+$/, '') }),
    },
  };
}
