import { randomUUID } from 'node:crypto';
import { describeSelf, isProcessGone, readBootId, type ProcessIdentity } from '@agentjet/core/processes';
import { parseJsonObject } from '@agentjet/core';
import { askEngine, type BoxEngine } from './engine.js';
import { isShared, removeBox, removeVolume } from './remove-box.js';

/** Every box names the process that opened it, so that a later process can remove what a killed one left. */

const ownerLabel = 'org.agentjet.owner';
/** The box whose network a box shares. That one is removed after it. */
export const networkLabel = 'org.agentjet.network';
/** The owner of a volume. podman splits labels of volumes at commas, so it is encoded. */
const volumeLabel = 'org.agentjet.volume';

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
const rounds = 5;

/**
 * Removes the boxes of processes of this machine that no longer exist, and returns how many there were. Boxes of other
 * machines, of other containers, and of programs other than ours remain.
 */
export async function removeLeftContainers(engine: BoxEngine): Promise<number> {
  const removed = new Set<string>();
  for (let round = 1; ; round++)
    try {
      const left = (await listBoxes(engine)).filter(isLeft);
      const sharing = left.filter(({ networkOf }) => networkOf !== '');
      for (const { name } of [...sharing, ...left.filter(({ networkOf }) => networkOf === '')]) {
        await removeBox(engine, name, { waitsForOthers: false });
        removed.add(name);
      }
      break;
    } catch (error) {
      // A client of a killed process may have started a box that shares the network of one in the list.
      if (round === rounds || !isShared(error)) throw error;
    }
  for (const { name } of (await listVolumes(engine)).filter(isLeft)) await removeVolume(engine, name);
  return removed.size;
}

type Owned = { readonly name: string; readonly owner: BoxOwner | undefined };
type Listed = Owned & { readonly networkOf: string };

const isLeft = ({ owner }: Owned): boolean => owner !== undefined && isOwnerGone(owner);

/** Lists all boxes of the engine, in any state. */
export async function listBoxes(engine: BoxEngine): Promise<readonly Listed[]> {
  const format = `{{.Names}} ${labelOf(engine, networkLabel)} ${labelOf(engine, ownerLabel)}`;
  const list = ['ps', '--all', '--no-trunc', '--filter', `label=${ownerLabel}`, '--format', format];
  return (await linesOf(engine, list)).map((line) => {
    const [, name = line, networkOf = '', owner = ''] = /^(\S+) (\S*) (.*)$/.exec(line) ?? [];
    return { name, networkOf, owner: readOwner(owner) };
  });
}

/** Creates a volume that boxes share, and returns its name. */
export async function createVolume(engine: BoxEngine): Promise<string> {
  const name = `ajet-volume-${randomUUID().slice(0, 13)}`;
  const label = `${volumeLabel}=${Buffer.from(JSON.stringify(ownerOf())).toString('base64url')}`;
  try {
    await askEngine(engine, ['volume', 'create', '--label', label, name], { seconds: listSeconds });
    return name;
  } catch (error) {
    await removeVolume(engine, name).catch(() => undefined); // the engine may have created it
    throw error;
  }
}

/** Lists all volumes that `createVolume` created and nobody removed. */
export async function listVolumes(engine: BoxEngine): Promise<readonly Owned[]> {
  const format = `{{.Name}} ${labelOf(engine, volumeLabel)}`;
  const lines = await linesOf(engine, ['volume', 'ls', '--filter', `label=${volumeLabel}`, '--format', format]);
  return lines.map((line) => {
    const [name = '', owner = ''] = line.split(' ');
    return { name, owner: readOwner(Buffer.from(owner, 'base64url').toString()) };
  });
}

const labelOf = ({ name }: BoxEngine, label: string): string =>
  `{{${name === 'podman' ? 'index .Labels' : '.Label'} ${JSON.stringify(label)}}}`;

const linesOf = async (engine: BoxEngine, list: readonly string[]): Promise<readonly string[]> =>
  (await askEngine(engine, list, { seconds: listSeconds })).split('\n').filter((line) => line !== '');

/** Reads an owner from its JSON. Returns undefined if it is something else. */
export function readOwner(text: string): BoxOwner | undefined {
  const value = parseJsonObject(text) as Partial<BoxOwner> | undefined;
  const isOwner = typeof value?.pid === 'number' && typeof value.host === 'string' && typeof value.bootId === 'string';
  return isOwner ? (value as BoxOwner) : undefined;
}

/** Whether an owner is a process of this machine that no longer exists. */
export const isOwnerGone = (owner: BoxOwner): boolean => isProcessGone(owner, bootId);
