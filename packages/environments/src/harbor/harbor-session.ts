import { EnvironmentError, type Verdict } from '@agentjet/core';
import type {
  Observation,
  OpenAIEndpoint,
  ProgramOrder,
  ProgramResult,
  Session,
  ToolResult,
} from '@agentjet/rollout/inputs';
import type { Box, BoxEngine } from '@agentjet/sandbox/boxes';
import { asOutage, type HarborMachine } from './harbor-machine.js';
import type { HarborTask } from './read-task.js';
import { ModelRoutes } from './model-routes.js';
import { runInBox } from './run-in-box.js';
import { runTool, toolSpecs } from './tools.js';
import { verify } from './verify.js';

export type HarborSettings = {
  /** False: a verifier that shares the agent's machine runs as in Harbor, which an agent can buy more easily. */
  readonly guardSharedVerifier: boolean;
  /** Whether the time between two calls, in which the agent waits for its model, counts as time of the agent. */
  readonly countModelTime: boolean;
  /** The longest time of one command of the agent. */
  readonly commandSeconds: number;
  /** The longest result of a tool, in characters. */
  readonly outputCharacters: number;
  readonly onNotice: (message: string) => void;
};

/** The agent's work on one task, from the first command to the verdict. */
export class HarborSession implements Session {
  readonly observation: Observation;
  readonly tools = toolSpecs;
  readonly #engine: BoxEngine;
  readonly #task: HarborTask;
  readonly #machine: HarborMachine;
  readonly #episodeId: string;
  readonly #settings: HarborSettings;
  readonly #over = new AbortController();
  readonly #boxes: Box[];
  readonly #routes: ModelRoutes;
  readonly #openedAt = performance.now();
  #spentMs = 0;
  #verdict: Promise<Verdict> | undefined;
  #closing: Promise<void> | undefined;

  constructor(
    machine: HarborMachine,
    given: { engine: BoxEngine; task: HarborTask; episodeId: string; settings: HarborSettings },
  ) {
    const { engine, task, episodeId, settings } = given;
    this.#engine = engine;
    this.#task = task;
    this.#machine = machine;
    this.#episodeId = episodeId;
    this.#settings = settings;
    this.#boxes = [machine.box];
    this.#routes = new ModelRoutes(machine.box, task.name);
    this.observation = observationOf(task, machine);
  }

  call = async (tool: string, args: Readonly<Record<string, unknown>>): Promise<ToolResult> => {
    const secondsLeft = this.#requireTime();
    const beganAt = performance.now();
    try {
      return await asOutage(this.#engine.name, () =>
        runTool(tool, args, {
          ...this.#machine,
          ...this.#settings,
          user: this.#task.agent.user,
          secondsLeft,
          signal: this.#over.signal,
        }),
      );
    } finally {
      this.#spentMs += performance.now() - beganAt;
    }
  };

  connect = (endpoint: OpenAIEndpoint): Promise<OpenAIEndpoint> => {
    this.#requireTime();
    return asOutage(this.#engine.name, () => this.#routes.open(endpoint));
  };

  /** Runs a program as the agent. The time in which it waits for the model counts only if the settings say so. */
  run = async (order: ProgramOrder): Promise<ProgramResult> => {
    const secondsLeft = this.#requireTime();
    const { countModelTime, outputCharacters } = this.#settings;
    const beganAt = performance.now();
    const waitedBefore = this.#routes.waitedMs();
    const spentMs = (): number =>
      performance.now() - beganAt - (countModelTime ? 0 : this.#routes.waitedMs() - waitedBefore);
    try {
      return await asOutage(this.#engine.name, () =>
        Promise.race([
          runInBox(order, {
            ...this.#machine,
            outputCharacters,
            user: this.#task.agent.user,
            msLeft: secondsLeft === null ? null : () => secondsLeft * 1000 - spentMs(),
            signal: this.#over.signal,
          }),
          this.#routes.broken,
        ]),
      );
    } finally {
      this.#spentMs += spentMs();
    }
  };

  evaluate = (): Promise<Verdict> => {
    this.#routes.close();
    this.#verdict ??= verify({
      engine: this.#engine,
      task: this.#task,
      machine: this.#machine,
      episodeId: this.#episodeId,
      isGuarded: this.#settings.guardSharedVerifier,
      signal: this.#over.signal,
      onNotice: this.#settings.onNotice,
      onBox: (box) => this.#boxes.push(box),
    });
    return this.#verdict;
  };

  close = (): Promise<void> => {
    this.#closing ??= this.#close();
    return this.#closing;
  };

  async #close(): Promise<void> {
    this.#over.abort(new EnvironmentError('closed', 'The session was closed.'));
    this.#routes.close();
    await this.#verdict?.catch(() => undefined);
    const removed = await Promise.allSettled(this.#boxes.map((box) => box.remove()));
    const failed = removed.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  /** Returns the time that the agent has left. Throws EnvironmentError if the session or this time is over. */
  #requireTime(): number | null {
    if (this.#closing !== undefined || this.#verdict !== undefined)
      throw new EnvironmentError('closed', `The session of task ${this.#task.name} is over. Open another one.`);
    const secondsLeft = this.#secondsLeft();
    if (secondsLeft !== null && secondsLeft <= 0) throw timeIsOver(this.#task);
    return secondsLeft;
  }

  #secondsLeft(): number | null {
    const { seconds } = this.#task.agent;
    if (seconds === null) return null;
    const spent = this.#settings.countModelTime ? performance.now() - this.#openedAt : this.#spentMs;
    return seconds - spent / 1000;
  }
}

function observationOf({ instruction, skillsFolder }: HarborTask, { workdir }: HarborMachine): Observation {
  const skills = skillsFolder === undefined ? '' : `\n\nDescriptions of useful skills are in ${skillsFolder}.`;
  return { text: `${instruction}${skills}`, data: { workdir, skillsFolder: skillsFolder ?? null } };
}

const timeIsOver = ({ name, agent }: HarborTask): EnvironmentError =>
  new EnvironmentError(
    'time_over',
    `The agent's ${agent.seconds} s for task ${name} are over (agent.timeout_sec). The task is scored as it is.`,
  );
