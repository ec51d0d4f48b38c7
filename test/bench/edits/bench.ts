/**
 * If a human or a guard edits the model's turn, does the model see the edit next? Arguments and texts are changed,
 * added, taken out and emptied in the messages of three frameworks, over our native models and over HTTP. Each edit
 * must be in the next prompt, and its call must be a fork with the cause `edited`.
 */
import { startEndpointServer } from '@agentjet/endpoint';
import { openScriptedEpisode } from '@agentjet/rollout/testing';
import type { EndpointHost } from '@agentjet/rollout';
import type { BenchOptions, BenchResult } from '../bench.js';
import { drivers, type Driver } from './drivers.js';
import { type EditKind, editKinds } from './edit-kinds.js';

export type EditsResult = { readonly edits: number; readonly shown_to_the_model: number; readonly forked: number };
export type EditOutcome = {
  readonly driver: string;
  readonly edit: string;
  readonly isShown: boolean;
  readonly isForked: boolean;
};

export async function run({ report }: BenchOptions): Promise<BenchResult> {
  const outcomes = await benchEdits();
  for (const { driver, edit, isShown, isForked } of outcomes)
    if (!isShown || !isForked)
      report(`${driver}, ${edit}: ${isShown ? 'shown' : 'NOT SHOWN'}, ${isForked ? 'forked' : 'NO FORK'}`);
  return {
    summary: { ...countEdits(outcomes) },
    details: { drivers: drivers.map(({ name }) => name), kinds: editKinds.map(({ name }) => name) },
  };
}

export function countEdits(outcomes: readonly EditOutcome[]): EditsResult {
  return {
    edits: outcomes.length,
    shown_to_the_model: outcomes.filter(({ isShown }) => isShown).length,
    forked: outcomes.filter(({ isForked }) => isForked).length,
  };
}

export async function benchEdits(): Promise<readonly EditOutcome[]> {
  const host = await startEndpointServer();
  try {
    const outcomes: EditOutcome[] = [];
    for (const driver of drivers) for (const kind of editKinds) outcomes.push(await editOnce(driver, kind, host));
    return outcomes;
  } finally {
    await host.close();
  }
}

async function editOnce(driver: Driver, kind: EditKind, endpointHost: EndpointHost): Promise<EditOutcome> {
  const { tuner, engine, finish } = openScriptedEpisode({ replies: [kind.answer, 'Good.'], endpointHost });
  const endpoint = tuner.asOpenAIEndpoint({ agentName: 'clerk' });
  await driver.run({ tuner, endpoint }, kind.edit);
  const text = engine.requests[1]?.text ?? '';
  // Search only after the question. The tools come before it, and their words must not count.
  const afterQuestion = text.slice(text.indexOf('Move the money.'));
  const isShown =
    kind.shown.every((part) => afterQuestion.includes(part)) &&
    !kind.hidden.some((part) => afterQuestion.includes(part));
  const isForked = finish().turns[1]?.fork === 'edited';
  return { driver: driver.name, edit: kind.name, isShown, isForked };
}
