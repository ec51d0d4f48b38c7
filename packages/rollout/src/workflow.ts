import { ConfigError, type Task, type WorkflowOutput } from '@agentjet/core';
import type { Tuner, WorkflowLike } from './contract.js';

/** The user's agent program. Every episode gets a new instance, so fields are private to one episode. */
export abstract class Workflow implements WorkflowLike {
  /** The target tags that learn. Unset means all. The configuration's `trainable_targets` overrides it. */
  trainableTargets?: readonly string[] | undefined;

  abstract execute(task: Task, tuner: Tuner): Promise<WorkflowOutput>;
}

/** A workflow without state. */
export type WorkflowFunction = (task: Task, tuner: Tuner) => Promise<WorkflowOutput> | WorkflowOutput;
/** A workflow with state. Each episode gets a separate instance. */
export type WorkflowClass = new () => WorkflowLike & { readonly trainableTargets?: readonly string[] | undefined };

/** A workflow that a user may pass: a class, or a plain function if it has no state. */
export type WorkflowSource = WorkflowClass | WorkflowFunction;

/** Creates the workflow of one episode. An error of the user's constructor passes through unchanged. */
export function createWorkflow(source: WorkflowSource): InstanceType<WorkflowClass> {
  if (!isClass(source)) {
    return { execute: async (task, tuner) => source(task, tuner) };
  }
  const workflow = new source();
  if (typeof workflow.execute !== 'function') {
    throw new ConfigError(
      'bad_workflow',
      `Workflow class "${source.name}" has no execute(task, tuner) method. Add one that returns { reward }.`,
    );
  }
  return workflow;
}

/** Checks the export that the configuration names. Throws ConfigError. */
export function parseWorkflowSource(value: unknown, where: string): WorkflowSource {
  if (typeof value === 'function') {
    return value as WorkflowSource;
  }
  const seen = value === null ? 'null' : `of type ${typeof value}`;
  const repair = 'Export a class that extends Workflow, or an async function (task, tuner).';
  const isInstance = typeof value === 'object' && value !== null && 'execute' in value;
  const hint = isInstance ? 'an instance. Export the class itself, because every episode gets a new instance' : seen;
  throw new ConfigError('bad_workflow', `${where} is not a workflow: it is ${hint}. ${repair}`);
}

/** Resolves the targets that learn. The configuration overrides the workflow's own field. Undefined means all. */
export function resolveTrainableTargets(
  configured: readonly string[] | null | undefined,
  workflow: { readonly trainableTargets?: readonly string[] | null | undefined } = {},
): readonly string[] | undefined {
  const targets = configured ?? workflow.trainableTargets ?? undefined;
  if (targets === undefined) {
    return undefined;
  }
  if (!Array.isArray(targets) || targets.some((target) => typeof target !== 'string')) {
    throw new ConfigError(
      'wrong_type',
      `trainable_targets is ${JSON.stringify(targets)}, which is not a list of names. Write trainable_targets: [name], or leave it out to train all targets.`,
    );
  }
  if (targets.length === 0) {
    throw new ConfigError(
      'empty_targets',
      'trainable_targets is an empty list, so nothing would learn. Name at least one target, or leave it out to train all targets.',
    );
  }
  return targets;
}

function isClass(source: WorkflowSource): source is WorkflowClass {
  return (
    Function.prototype.toString.call(source).startsWith('class') || typeof source.prototype?.execute === 'function'
  );
}
