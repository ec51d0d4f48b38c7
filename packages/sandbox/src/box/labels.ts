import { describeSelf, isProcessGone, readBootId, type ProcessIdentity } from '@agentjet/core/processes';
import { parseJsonObject } from '@agentjet/core';
import { askEngine, type BoxEngine } from './engine.js';
import { removeBox } from './remove-box.js';

/** Every box names the process that opened it, so that a later process can remove what a killed one left. */

const ownerLabel = 'org.agentjet.owner';

/** A process that opened boxes. */
export type BoxOwner = ProcessIdentity & { readonly bootId: string };

const bootId = readBootId();

/** Returns this process as the owner of boxes. */
export const ownerOf = (): BoxOwner => ({ ...describeSelf(), bootId });

/** The labels of every box that this process opens. */
export function ownLabels(): Readonly<Record<string, string>> {
  return { [ownerLabel]: JSON.stringify(ownerOf()) };
}

export function labelArguments(labels: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(labels).flatMap(([name, value]) => ['--label', `${name}=${value}`]);
}

const listSeconds = 60;

/**
 * Removes the boxes of processes of this machine that no longer exist, and returns how many there were. Boxes of other
 * machines, of other containers, and of programs other than ours remain.
 */
export async function removeLeftContainers(engine: BoxEngine): Promise<number> {
  const left = (await listBoxes(engine)).filter(({ owner }) => owner !== undefined && isOwnerGone(owner));
  for (const { name } of left) await removeBox(engine, name);
  return left.length;
}

type Listed = { readonly name: string; readonly owner: BoxOwner | undefined };

/** Lists all boxes of the engine, in any state. */
export async function listBoxes(engine: BoxEngine): Promise<readonly Listed[]> {
  const label = engine.name === 'podman' ? 'index .Labels' : '.Label';
  const format = `{{.Names}} {{${label} ${JSON.stringify(ownerLabel)}}}`;
  const list = ['ps', '--all', '--no-trunc', '--filter', `label=${ownerLabel}`, '--format', format];
  const lines = (await askEngine(engine, list, { seconds: listSeconds })).split('\n').filter((line) => line !== '');
  return lines.map(readLine);
}

function readLine(line: string): Listed {
  const at = line.indexOf(' ');
  return { name: line.slice(0, at), owner: readOwner(line.slice(at + 1)) };
}

/** Reads an owner from its JSON. Returns undefined if it is something else. */
export function readOwner(text: string): BoxOwner | undefined {
  const value = parseJsonObject(text) as Partial<BoxOwner> | undefined;
  const isOwner = typeof value?.pid === 'number' && typeof value.host === 'string' && typeof value.bootId === 'string';
  return isOwner ? (value as BoxOwner) : undefined;
}

/** Whether an owner is a process of this machine that no longer exists. */
export const isOwnerGone = (owner: BoxOwner): boolean => isProcessGone(owner, bootId);
