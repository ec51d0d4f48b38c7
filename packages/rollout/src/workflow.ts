import { ConfigError, type Task, type WorkflowOutput } from '@agentjet/core';
import type { Tuner, WorkflowLike } from './contract.js';

/** The user's agent program. A new instance is made for every episode, so fields are private to one. */
export abstract class Workflow implements WorkflowLike {
  /** Target tags that learn; unset: all. The configuration's `trainable_targets` goes before it. */
  trainableTargets?: readonly string[] | undefined;

  abstract execute(task: Task, tuner: Tuner): Promise<WorkflowOutput>;
}

/** A workflow without state. */
export type WorkflowFunction = (task: Task, tuner: Tuner) => Promise<WorkflowOutput> | WorkflowOutput;
/** A workflow with state: an instance lives for one episode. */
export type WorkflowClass = new () => WorkflowLike & { readonly trainableTargets?: readonly string[] | undefined };

/** What a user may hand in: a class, or a plain function for a workflow without state. */
export type WorkflowSource = WorkflowClass | WorkflowFunction;

/** One episode's workflow. Whatever the user's constructor throws comes through as it is. */
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

/** Narrows what a module exports under the configured name. Throws ConfigError. */
export function parseWorkflowSource(value: unknown, where: string): WorkflowSource {
  if (typeof value === 'function') {
    return value as WorkflowSource;
  }
  const seen = value === null ? 'null' : `of type ${typeof value}`;
  const repair = 'Export a class that extends Workflow, or an async function (task, tuner).';
  const isInstance = typeof value === 'object' && value !== null && 'execute' in value;
  const hint = isInstance ? 'an instance; export the class itself, since every episode gets a new one' : seen;
  throw new ConfigError('bad_workflow', `${where} is not a workflow: it is ${hint}. ${repair}`);
}

/** The targets that learn. The configuration goes before the workflow's own field; undefined: all learn. */
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
      `trainable_targets is ${JSON.stringify(targets)}, which is not a list of names. Write trainable_targets: [name], or leave it out to train all.`,
    );
  }
  if (targets.length === 0) {
    throw new ConfigError(
      'empty_targets',
      'trainable_targets is an empty list, so nothing would learn. Name at least one target, or leave it out to train all.',
    );
  }
  return targets;
}

function isClass(source: WorkflowSource): source is WorkflowClass {
  return (
    Function.prototype.toString.call(source).startsWith('class') || typeof source.prototype?.execute === 'function'
  );
}
