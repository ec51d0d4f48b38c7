import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Task, WorkflowOutput } from '@agentjet/core';
import type { Tuner } from '@agentjet/rollout';
import { environmentOf } from './program-home.js';
import { readReward, rewardOfExit } from './read-reward.js';
import type { AcpTurn } from './acp-agent.js';
import { spawnProgram, talkToProgram, type ProgramEnd, type ProgramOptions } from './spawn-program.js';
import { describeTask, fillArguments } from './task-arguments.js';
import { filesOf, readFiles, writeTaskFiles, type TaskFiles } from './task-files.js';

/** A program that is the agent, and how its reward is found. */
export type ProgramWorkflowOptions = {
  readonly command: string;
  /** `{query}`, `{task_id}` and `{query_file}` are replaced by the task's values. */
  readonly args: readonly string[];
  /**
   * A shell command that prints the reward. Default: 1 if the program exits with 0, otherwise 0. False leaves the
   * reward to a judge.
   */
  readonly reward?: string | false | undefined;
  /**
   * A folder that is copied for each episode and becomes the program's working directory. Default: the current
   * directory, which is not copied. If a task has files (`metadata.files`), they are written to the copy, or to an
   * empty folder.
   */
  readonly folder?: string | undefined;
  /** The program's name in the records. Default: agent. */
  readonly agentName?: string | undefined;
  /**
   * `acp`: the program is an agent of the Agent Client Protocol. It gets the query as a prompt, and its answer is the
   * output. The exit code is 0 if it ended its turn, and otherwise 1.
   */
  readonly protocol?: 'acp' | undefined;
};

/**
 * Creates a workflow that runs any program as an episode. The program gets its model and its task only through
 * environment variables, and calls the model as it would call OpenAI or Anthropic.
 */
export function createProgramWorkflow(
  options: ProgramWorkflowOptions,
): (task: Task, tuner: Tuner) => Promise<WorkflowOutput> {
  const { command, args, reward, folder, agentName = 'agent' } = options;
  return async (task, tuner) => {
    const home = mkdtempSync(path.join(tmpdir(), 'ajet-program-'));
    try {
      const files = filesOf(task);
      const cwd = openFolder(folder, files, home);
      const endpoint = tuner.asOpenAIEndpoint({ agentName });
      const { episodeId, attempt } = tuner;
      const written = describeTask(task, home);
      const env = { ...environmentOf({ episodeId, attempt, task, written, endpoint, home }), PWD: cwd };
      const given = fillArguments(args, task, written);
      const run = { command, args: given, cwd, env, signal: tuner.signal };
      const end = options.protocol === 'acp' ? await runAcpAgent(run, task.mainQuery) : await spawnProgram(run);
      const said = { ...metadataOf(end), ...(files !== undefined && { files: readFiles(files, cwd) }) };
      if (reward === false) return { metadata: said };
      const verdict =
        reward === undefined
          ? rewardOfExit(end)
          : await askReward(reward, { end, cwd, env, task, signal: tuner.signal });
      return { ...verdict, metadata: { ...said, ...verdict.metadata } };
    } finally {
      rmSync(home, { recursive: true, force: true, maxRetries: 3 });
    }
  };
}

function openFolder(folder: string | undefined, files: TaskFiles | undefined, home: string): string {
  if (folder === undefined && files === undefined) return process.cwd();
  const work = path.join(home, 'work');
  mkdirSync(work);
  if (folder !== undefined) cpSync(folder, work, { recursive: true, verbatimSymlinks: true }); // otherwise relative links lead to the original
  if (files !== undefined) writeTaskFiles(files, work);
  return work;
}

type AgentEnd = ProgramEnd & { readonly turn?: AcpTurn };

async function runAcpAgent(options: ProgramOptions, query: string): Promise<AgentEnd> {
  const { askAcpAgent } = await import('./acp-agent.js'); // the protocol's schemas take long to load
  const { said, stderr } = await talkToProgram(options, (child) => askAcpAgent(child, { cwd: options.cwd, query }));
  return { exitCode: said.stopReason === 'end_turn' ? 0 : 1, stdout: said.answer, stderr, turn: said };
}

/** Metadata for people and for a judge. `answer` is the program's output. */
const metadataOf = ({ exitCode, stdout, stderr, turn }: AgentEnd): NonNullable<WorkflowOutput['metadata']> => ({
  exit_code: exitCode,
  ...(turn !== undefined && { stop_reason: turn.stopReason, tool_calls: turn.numToolCalls }),
  answer: stdout.trim().slice(-8000),
  ...(stderr.trim() !== '' && { stderr: stderr.trim().slice(-2000) }),
});

type Asked = {
  readonly end: ProgramEnd;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly task: Task;
  readonly signal: AbortSignal;
};

/**
 * Runs the command in the folder of the program, with the program's output on standard input and its exit code in
 * AJET_EXIT_CODE.
 */
async function askReward(command: string, { end, cwd, env, signal }: Asked): Promise<WorkflowOutput> {
  const asked = { ...env, AJET_EXIT_CODE: String(end.exitCode ?? 'signal') };
  const shell = process.platform === 'win32' ? (['cmd', '/c'] as const) : (['sh', '-c'] as const);
  const answer = await spawnProgram({
    command: shell[0],
    args: [shell[1], command],
    cwd,
    env: asked,
    input: end.stdout,
    signal,
  });
  return readReward(command, answer);
}
