import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import path from 'node:path';
import { openAgentjet, openMcp, openOpenenv } from '@agentjet/environments';
import { ConfigError, type Environment } from 'agentjet';
import { lakeTasks } from '../frozen-lake/lake-tasks.js';
import { startAgentjetServer, type LakeServer } from './agentjet-server.js';
import { startMcpServer } from './mcp-server.js';

/**
 * The same lake over three protocols. Each world starts its server with the first session and stops it at the end of
 * the run, so one command is enough. README.md shows how to name a server that is already running.
 */

type Started = { readonly environment: Environment; readonly close: () => Promise<void> };

function startingWith(name: string, start: () => Promise<Started>): Environment {
  let started: Promise<Started> | undefined;
  return {
    name,
    open: async (task, options) => {
      started ??= start();
      return (await started).environment.open(task, options);
    },
    close: async () => {
      const running = await started?.catch(() => undefined); // the episodes have already reported why it did not start
      started = undefined;
      await running?.close();
    },
  };
}

export const overAgentjet = startingWith('the lake over agentjet', async () => {
  const maps = new Map<string, unknown>();
  for (const tasks of [lakeTasks.trainingTasks(), lakeTasks.evaluationTasks()])
    for await (const { taskId, metadata } of tasks) maps.set(taskId, metadata['map']);
  const { url, close } = await startAgentjetServer((taskId) => maps.get(taskId));
  return { environment: openAgentjet({ url, envType: 'lake' }), close };
});

export const overMcp = startingWith('the lake over mcp', async () => {
  const { url, close } = await startMcpServer();
  return { environment: openMcp({ url, headers: {}, openTool: 'begin', evaluateTool: 'score', tools: null }), close };
});

export const overOpenenv = startingWith('the lake over openenv', async () => {
  const { url, close } = await startPython();
  const fields = { actionField: 'direction', textField: 'text', verdict: 'sum', tools: false } as const;
  return { environment: openOpenenv({ url, envType: null, ...fields }), close };
});

/** `LAKE_PYTHON` names a Python that has openenv and gymnasium; default: python3. */
async function startPython(): Promise<LakeServer> {
  const python = process.env['LAKE_PYTHON'] ?? 'python3';
  const child = spawn(python, [path.join(import.meta.dirname, 'lake_server.py'), '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const failed = once(child, 'error').then(([error]) => {
    throw error as Error;
  });
  const port = await Promise.race([readPort(child.stdout), failed]).catch(() => undefined);
  if (port === undefined)
    throw new ConfigError(
      'missing_package',
      `${python} does not serve the lake. Run: pip install openenv==0.10.0 gymnasium==1.4.0, or name another Python in LAKE_PYTHON.`,
    );
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
    },
  };
}

/** Resolves to undefined if the program ends first. */
async function readPort(output: NodeJS.ReadableStream): Promise<number | undefined> {
  for await (const line of createInterface({ input: output })) {
    const port = /^listening on (\d+)$/.exec(line)?.[1];
    if (port !== undefined) return Number(port);
  }
  return undefined;
}
