import { cpSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Task } from '@agentjet/core';
import { startEndpointServer, type EndpointServer } from '@agentjet/endpoint';
import type { OpenSession } from '@agentjet/rollout/inputs';
import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { callEngine, findWorkingEngine } from '@agentjet/sandbox/boxes';
import { createInsideWorkflow, createProgramWorkflow } from '@agentjet/swarm-client';
import { installProgram } from '../../../swarm/programs/install-programs.js';
import { answer, callOf, programs, query, reply, word, type ProgramName } from '../../../swarm/programs/programs.js';
import { chatTokenizer } from '../../swarm/steady-run.js';
import { openBench, readTasks, tasksFolder } from '../play.js';

/**
 * Runs a coding agent of the npm registry with the same scripted model on this machine and inside of a box without a
 * network. Their prompts name folders and dates, so the trained tokens are compared, and how calls make samples.
 */
export async function compareProgram(name: ProgramName): Promise<string> {
  const installed = installProgram(programs[name]);
  if ('problem' in installed) return installed.problem;
  const server = await startEndpointServer();
  const scratch = mkdtempSync(path.join(tmpdir(), 'inside-'));
  try {
    const outside = await runOutside(name, { server, bin: installed.bin, scratch });
    const task = await makeTask(name, { bin: installed.bin, scratch });
    const inside = await runInside(name, { server, task });
    const asked = await askToolServer(name, { server, bin: installed.bin, scratch });
    if (asked !== answer) return `with a tool server: ${asked}`;
    if (!outside.includes(answer)) return `on this machine: ${outside}`;
    return inside === outside ? 'equal' : `${inside} instead of ${outside}`;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
    await server.close();
    await removeImage(name);
  }
}

const imageOf = (name: ProgramName): string => `localhost/ajet-inside-${name}:${programs[name].version}`;

/** These images are large. */
async function removeImage(name: ProgramName): Promise<void> {
  const engine = await findWorkingEngine();
  if (typeof engine !== 'string') await callEngine(engine, ['image', 'rm', imageOf(name)], { seconds: 120 });
}

/** The default of `rollout.untrained_models`. */
const untrainedModels = ['*:untrained'];

function openEpisode(name: ProgramName, endpointHost: EndpointServer) {
  const replies = (request: Parameters<typeof reply>[1]): string => reply(programs[name], request);
  return openScriptedEpisode({
    replies,
    chatTokenizer,
    contextLength: 2_000_000,
    endpointHost,
    seed: 1,
    untrainedModels,
  });
}

type Episode = ReturnType<typeof openEpisode>;

/** What must be equal: the answer, the calls and their samples, and the tokens that are trained. */
function describe(said: unknown, finish: Episode['finish']): string {
  const { samples, stats } = finish();
  const trained = samples.map(({ ids, lossMask }) => [...ids].filter((_id, index) => lossMask[index] === 1));
  const { calls, forks } = stats;
  const shown = String(said).includes(answer) ? answer : String(said).slice(-300);
  return JSON.stringify({ answer: shown, calls, samples: samples.length, forks, trained });
}

const toTask = (task: Pick<Task, 'taskId' | 'metadata'>): Task => ({ ...task, mainQuery: query, initMessages: [] });

type Outside = { readonly server: EndpointServer; readonly bin: string; readonly scratch: string };

async function runOutside(name: ProgramName, { server, bin, scratch }: Outside): Promise<string> {
  const folder = path.join(scratch, 'folder');
  mkdirSync(folder);
  writeFileSync(path.join(folder, 'a.txt'), `${word}\n`);
  const { command, args } = programs[name];
  const { tuner, finish } = openEpisode(name, server);
  const run = createProgramWorkflow({ command: path.join(bin, command), args, folder, reward: false });
  const { metadata } = await run(toTask({ taskId: 'word', metadata: {} }), tuner);
  return describe(metadata?.['answer'], finish);
}

/** Codex would open another sandbox in the box. */
const argsInside: Partial<Record<ProgramName, readonly string[]>> = {
  codex: ['exec', '--sandbox', 'danger-full-access', '--skip-git-repo-check', '{query}'],
};

async function runInside(
  name: ProgramName,
  { server, task }: { readonly server: EndpointServer; readonly task: Task },
): Promise<string> {
  const { finish, tuner } = openEpisode(name, server);
  return play(name, { task, tuner, args: argsInside[name] ?? programs[name].args }).then(
    (said) => describe(said, finish),
    String,
  );
}

/** Runs the program in the machine of a task, and returns what it said at the end. */
async function play(
  name: ProgramName,
  { task, tuner, args }: { readonly task: Task; readonly tuner: Episode['tuner']; readonly args: readonly string[] },
): Promise<unknown> {
  const { signal } = tuner;
  const session = await openBench().open(task, { seed: 1, signal, episodeId: tuner.episodeId });
  try {
    const run = createInsideWorkflow({ command: programs[name].command, args });
    const { metadata } = await run(task, { ...tuner, openEnvironment: async () => session as OpenSession });
    const verdict = await session.evaluate?.();
    if (verdict?.reward !== 1) throw new Error(`reward ${verdict?.reward}`);
    return metadata?.['answer'];
  } finally {
    await session.close();
  }
}

/** With these arguments, programs may call the tools of servers. */
const argsOfCaller: Record<ProgramName, readonly string[]> = {
  'claude-code': ['-p', '{query}', '--allowedTools', 'mcp__desk__word'],
  codex: ['exec', '--dangerously-bypass-approvals-and-sandbox', '--skip-git-repo-check', '{query}'],
  opencode: programs.opencode.args,
};

/** Lets the program call the tool of a server in the machine, by any name that the program gives it. */
async function askToolServer(name: ProgramName, { server, bin, scratch }: Outside): Promise<string> {
  const task = await makeTask(name, { bin, scratch: path.join(scratch, 'tool-server'), hasToolServer: true });
  const { tuner } = openScriptedEpisode({
    replies: ({ text }) => {
      const [, tool] = /"name": ?"((?:[\w-]*desk_+)?word)"/.exec(text) ?? [];
      if (tool === undefined) return text.includes('<tools>') ? 'There is no such tool.' : 'A word of a desk';
      if (!text.includes('<tool_response>')) return callOf(tool, {});
      return text.includes(word) ? answer : 'The tool failed.';
    },
    chatTokenizer,
    contextLength: 2_000_000,
    endpointHost: server,
    seed: 1,
    untrainedModels,
  });
  const said = await play(name, { task, tuner, args: argsOfCaller[name] }).catch(String);
  return String(said).includes(answer) ? answer : String(said).slice(-300);
}

const desk = path.join(tasksFolder, 'tool-servers', 'environment', 'desk.py');
const deskToml =
  '[[environment.mcp_servers]]\nname = "desk"\ntransport = "stdio"\ncommand = "python3"\nargs = ["/srv/desk.py", "word"]\n';

/** Makes a task whose image has the program's binary for this platform. */
async function makeTask(
  name: ProgramName,
  { bin, scratch, hasToolServer = false }: Pick<Outside, 'bin' | 'scratch'> & { readonly hasToolServer?: boolean },
): Promise<Task> {
  const engine = await findWorkingEngine();
  if (typeof engine === 'string') throw new Error(engine);
  const { command } = programs[name];
  const image = imageOf(name);
  const context = path.join(scratch, 'context');
  mkdirSync(context, { recursive: true });
  cpSync(binaryOf(name, bin), path.join(context, command));
  writeFileSync(path.join(context, 'a.txt'), `${word}\n`);
  cpSync(desk, path.join(context, 'desk.py'));
  writeFileSync(
    path.join(context, 'Dockerfile'),
    `FROM localhost/ajet-base:1\nWORKDIR /app\nCOPY a.txt ./\nCOPY desk.py /srv/\nCOPY ${command} /usr/local/bin/\n`,
  );
  const { status, stderr } = await callEngine(engine, ['build', '--tag', image, context], { seconds: 600 });
  if (status !== 0) throw new Error(stderr);
  const folder = path.join(scratch, 'tasks', name);
  mkdirSync(path.join(folder, 'tests'), { recursive: true });
  writeFileSync(path.join(folder, 'instruction.md'), query);
  writeFileSync(
    path.join(folder, 'task.toml'),
    `[environment]\ndocker_image = "${image}"\nnetwork_mode = "no-network"\nworkdir = "/app"\n${hasToolServer ? deskToml : ''}`,
  );
  const test = `#!/bin/sh\nif [ "$(cat /app/a.txt)" = ${word} ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n`;
  writeFileSync(path.join(folder, 'tests', 'test.sh'), test, { mode: 0o755 });
  const [task] = await readTasks(path.join(scratch, 'tasks'));
  if (task === undefined) throw new Error('The task was not written.');
  return toTask(task);
}

/** The command of Codex is a script for Node, and its binary is in another package. */
function binaryOf(name: ProgramName, bin: string): string {
  const { command } = programs[name];
  if (name !== 'codex') return realpathSync(path.join(bin, command));
  const folder = path.join(bin, '..', '@openai');
  const found = readdirSync(folder, { recursive: true, encoding: 'utf8' }).find((file) =>
    /codex-[^/]*\/vendor\/[^/]+\/bin\/codex$/.test(file),
  );
  if (found === undefined) throw new Error('The binary of Codex is missing.');
  return path.join(folder, found);
}
