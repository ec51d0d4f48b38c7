import { EnvironmentError, type ToolSpec, type Verdict } from '@agentjet/core';
import type {
  Observation,
  OpenAIEndpoint,
  ProgramOrder,
  ProgramResult,
  Session,
  StepResult,
  ToolResult,
  ToolServer,
} from '@agentjet/rollout/inputs';
import { SandboxError } from '@agentjet/sandbox';
import type { BoxHost } from '@agentjet/sandbox/boxes';
import { asOutage, harborHostOf } from './box-work.js';
import { removeMachine, type HarborMachine } from './harbor-machine.js';
import { ModelRoutes } from './model-routes.js';
import { enterNetwork, type PhaseNetwork } from './phase-network.js';
import { prepareStep } from './prepare-step.js';
import { meanOfSteps, toVerdict, type Rewards } from './read-reward.js';
import type { HarborStep } from './read-steps.js';
import type { HarborTask } from './read-task.js';
import { resolveToolServer } from './read-tool-servers.js';
import { runInBox } from './run-in-box.js';
import { ToolServers } from './tool-servers.js';
import { runTool, toolSpecs, type AgentPlace } from './tools.js';
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
  /** The longest time of one step, including waiting for models. A task with a longer limit has that one. */
  readonly lifeSeconds: number;
  readonly onNotice: (message: string) => void;
};

/** The agent's work on one task, from the first command to the verdict. */
export class HarborSession implements Session {
  readonly observation: Observation;
  readonly toolServers: readonly ToolServer[];
  /** Scores the step that the agent has finished, and begins the next one. Only tasks with several steps have it. */
  readonly step?: () => Promise<StepResult>;
  readonly #engine: BoxHost;
  readonly #task: HarborTask;
  readonly #machine: HarborMachine;
  readonly #episodeId: string;
  readonly #settings: HarborSettings;
  readonly #over = new AbortController();
  readonly #machines: HarborMachine[];
  /** The rewards of the steps that are over. */
  readonly #rewards: Rewards[] = [];
  #step: HarborStep;
  #isDone = false;
  #routes: ModelRoutes;
  #network: PhaseNetwork | undefined;
  #servers: ToolServers | undefined;
  #beganAt = performance.now();
  #spentMs = 0;
  #scoring: Promise<Rewards> | undefined;
  #verdict: Promise<Verdict> | undefined;
  #closing: Promise<void> | undefined;

  constructor(
    machine: HarborMachine,
    given: { engine: BoxHost; task: HarborTask; episodeId: string; settings: HarborSettings },
  ) {
    const { engine, task, episodeId, settings } = given;
    this.#engine = engine;
    this.#task = task;
    this.#step = task.steps[0];
    this.#machine = machine;
    this.#episodeId = episodeId;
    this.#settings = settings;
    this.#machines = [machine];
    this.#routes = new ModelRoutes(machine.box, task.name);
    this.observation = observationOf(task, this.#step, machine);
    this.toolServers = task.toolServers.map(resolveToolServer);
    if (this.#step.name !== null) this.step = () => this.#endStep();
  }

  get tools(): readonly ToolSpec[] {
    return [...toolSpecs, ...(this.#servers?.tools ?? [])];
  }

  /** Prepares the machine for the present step. Called once, before the agent works. */
  async begin(hadVerifier = false): Promise<void> {
    const [engine, task, step, machine] = [this.#engine, this.#task, this.#step, this.#machine];
    const { signal } = this.#over;
    if (step.name !== null) await prepareStep({ engine, task, step, machine, hadVerifier, signal });
    this.#network = await asOutage(engine.name, () => enterNetwork(machine, step.agent.network, task.name));
    await this.#beginServers(this.#network.dial);
    this.#beganAt = performance.now();
    this.#spentMs = 0;
  }

  async #beginServers(dial: PhaseNetwork['dial']): Promise<void> {
    if (this.toolServers.length === 0) return;
    this.#servers = new ToolServers(this.toolServers, { ...this.#place, dial, host: harborHostOf(this.#task) });
    await this.#servers.begin();
  }

  get #place(): HarborMachine & AgentPlace {
    const { user } = this.#step.agent;
    return { ...this.#machine, user, env: this.#network?.env ?? {}, signal: this.#over.signal };
  }

  call = async (tool: string, args: Readonly<Record<string, unknown>>): Promise<ToolResult> => {
    const secondsLeft = this.#requireTime();
    const beganAt = performance.now();
    try {
      const work = this.#run(tool, args, secondsLeft);
      return await asOutage(this.#engine.name, () => Promise.race([work, ...this.#broken()]));
    } finally {
      this.#spentMs += performance.now() - beganAt;
    }
  };

  #run(tool: string, args: Readonly<Record<string, unknown>>, secondsLeft: number): Promise<ToolResult> {
    const { commandSeconds, outputCharacters } = this.#settings;
    if (this.#servers?.has(tool) === true)
      return this.#servers.call(tool, args, { seconds: Math.min(commandSeconds, secondsLeft), outputCharacters });
    return runTool(tool, args, {
      ...this.#place,
      ...this.#settings,
      toolNames: this.tools.map(({ name }) => name),
      secondsLeft,
    });
  }

  /** A program in the machine starts the tool servers itself, so those of an agent outside are ended. */
  connect = async (endpoint: OpenAIEndpoint): Promise<OpenAIEndpoint> => {
    this.#requireTime();
    await this.#servers?.close();
    return asOutage(this.#engine.name, () => this.#routes.open(endpoint));
  };

  /** Runs a program as the agent. The time in which it waits for the model counts only if the settings say so. */
  run = async (order: ProgramOrder): Promise<ProgramResult> => {
    this.#requireTime();
    const { outputCharacters } = this.#settings;
    const beganAt = performance.now();
    const routes = this.#routes;
    const waitedBefore = routes.waitedMs();
    const spentMs = (): number => performance.now() - beganAt - (routes.waitedMs() - waitedBefore);
    try {
      return await asOutage(this.#engine.name, () =>
        Promise.race([
          runInBox(order, {
            ...this.#place,
            outputCharacters,
            msLeft: () => this.#secondsLeft(spentMs()) * 1000,
          }),
          this.#routes.broken,
          ...this.#broken(),
        ]),
      );
    } finally {
      this.#spentMs += spentMs();
    }
  };

  /** Scores the task as it is. The agent does nothing in the steps that are left. */
  evaluate = (): Promise<Verdict> => {
    this.#verdict ??= this.#evaluate();
    return this.#verdict;
  };

  async #evaluate(): Promise<Verdict> {
    while (!this.#isDone) await this.#score();
    const [last = {}] = this.#rewards.slice(-1);
    return toVerdict(this.#task.joining === 'final' ? last : meanOfSteps(this.#rewards));
  }

  async #endStep(): Promise<StepResult> {
    this.#requireOpen();
    if (this.#isDone) throw isOver(this.#task);
    const rewards = await this.#score();
    const observation = this.#isDone ? { text: '' } : observationOf(this.#task, this.#step, this.#machine);
    return { observation, reward: toVerdict(rewards).reward, isDone: this.#isDone, info: { rewards } };
  }

  /** Scores the present step, and begins the next one if there is one. No step is scored twice at a time. */
  #score(): Promise<Rewards> {
    this.#scoring ??= this.#scoreStep().finally(() => (this.#scoring = undefined));
    return this.#scoring;
  }

  async #scoreStep(): Promise<Rewards> {
    const [task, step] = [this.#task, this.#step];
    const next = task.steps[task.steps.indexOf(step) + 1];
    await asOutage(this.#engine.name, () => this.#requireWorking());
    await this.#leave();
    const rewards = await verify({
      engine: this.#engine,
      task,
      step,
      isLast: next === undefined,
      machine: this.#machine,
      episodeId: this.#episodeId,
      isGuarded: this.#settings.guardSharedVerifier,
      signal: this.#over.signal,
      onNotice: this.#settings.onNotice,
      onMachine: (second) => this.#machines.push(second),
    });
    this.#rewards.push(rewards);
    const isEnough = Object.entries(step.leastRewards).every(([name, least]) => (rewards[name] ?? -Infinity) >= least);
    this.#isDone = next === undefined || !isEnough;
    if (next === undefined || this.#isDone) return rewards;
    this.#step = next;
    this.#routes = new ModelRoutes(this.#machine.box, task.name);
    await this.begin(step.verifier.machine === null);
    return rewards;
  }

  /**
   * Throws SandboxError if the machine or a way out of it failed while the agent worked. The result of its last command
   * may have arrived before the failure was noticed.
   */
  async #requireWorking(): Promise<void> {
    const { box } = this.#machine;
    if (!(await box.isRunning())) throw new SandboxError('failed', `The box ${box.name} ended while the agent worked.`);
    await Promise.all([this.#network?.check(), this.#routes.check()]);
  }

  /** Takes the network, the models and the tool servers away from the agent. */
  async #leave(): Promise<void> {
    this.#routes.close();
    this.#network?.close();
    this.#network = undefined;
    await this.#servers?.close();
  }

  #broken(): readonly Promise<never>[] {
    return this.#network === undefined ? [] : [this.#network.broken];
  }

  close = (): Promise<void> => {
    this.#closing ??= this.#close();
    return this.#closing;
  };

  async #close(): Promise<void> {
    this.#over.abort(new EnvironmentError('closed', 'The session was closed.'));
    await this.#leave();
    await Promise.allSettled([this.#verdict, this.#scoring]); // they may still open boxes and networks
    await this.#leave();
    const removed = await Promise.allSettled(this.#machines.map(removeMachine));
    const failed = removed.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  /** Returns the time that the agent has left. Throws EnvironmentError if the session or this time is over. */
  #requireTime(): number {
    this.#requireOpen();
    if (this.#isDone) throw isOver(this.#task);
    const secondsLeft = this.#secondsLeft();
    if (secondsLeft <= 0) throw timeIsOver(this.#task, this.#step);
    return secondsLeft;
  }

  #requireOpen(): void {
    if (this.#closing !== undefined || this.#verdict !== undefined) throw isOver(this.#task);
  }

  /**
   * A program could keep a model call running and pause its time for ever, so waiting for models is limited, too: by the
   * life of a box.
   */
  #secondsLeft(runningMs = 0): number {
    const { seconds } = this.#step.agent;
    const passed = (performance.now() - this.#beganAt) / 1000;
    const ofLife = Math.max(this.#settings.lifeSeconds, seconds ?? 0) - passed;
    if (seconds === null) return ofLife;
    const spent = this.#settings.countModelTime ? passed : (this.#spentMs + runningMs) / 1000;
    return Math.min(seconds - spent, ofLife);
  }
}

function observationOf({ skillsFolder, steps }: HarborTask, step: HarborStep, { workdir }: HarborMachine): Observation {
  const skills = skillsFolder === undefined ? '' : `\n\nDescriptions of useful skills are in ${skillsFolder}.`;
  const place = step.name === null ? {} : { step: step.name, steps: steps.length };
  return { text: `${step.instruction}${skills}`, data: { workdir, skillsFolder: skillsFolder ?? null, ...place } };
}

const isOver = ({ name }: HarborTask): EnvironmentError =>
  new EnvironmentError('closed', `The session of task ${name} is over. Open another one.`);

const timeIsOver = ({ name }: HarborTask, { agent }: HarborStep): EnvironmentError =>
  new EnvironmentError(
    'time_over',
    `The agent's ${agent.seconds === null ? 'time' : `${agent.seconds} s`} for task ${name} is over (agent.timeout_sec, environment.harbor.box_life). The task is scored as it is.`,
  );
