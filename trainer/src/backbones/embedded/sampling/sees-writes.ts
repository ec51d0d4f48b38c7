/** Tests whether a session sees what is written into a file that it has mapped. */

import { closeSync, openSync, writeSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { openSession, toTensor } from '@agentjet/onnx';
import { createScratchFolder } from '@agentjet/run-folder';
import { add } from '../training/graph/elementwise.js';
import { Graph } from '../training/graph/graph.js';

const size = 1024;

let found: Promise<boolean> | undefined;

/**
 * Resolves with true if a session reads later writes to a file of a scratch folder. Linux shows them on local file systems,
 * but POSIX does not promise it, and network folders and sandboxes may show the old content. The first call tests it in a
 * few milliseconds.
 */
export async function seesWrites(): Promise<boolean> {
  found ??= process.platform === 'linux' ? test().catch(() => false) : Promise.resolve(false);
  return await found;
}

async function test(): Promise<boolean> {
  const folder = await createScratchFolder('ajet-mapped-');
  const file = openSync(path.join(folder, 'stored'), 'w+');
  try {
    const write = (value: number) => writeSync(file, new Float32Array(size).fill(value), 0, 4 * size, 0);
    write(1);
    const graph = new Graph();
    const content = { location: 'stored', offset: 0, length: 4 * size };
    graph.output('sum', add(graph.input('value', [size]), graph.externalInput('stored', [size], content)));
    const session = await openSession(graph.encode(), { threads: 1, externalFolder: folder });
    try {
      const seen = async (): Promise<unknown> => {
        const { sum } = await session.run({ value: toTensor(new Float32Array(size), [size]) });
        return sum?.data[size - 1];
      };
      if ((await seen()) !== 1) return false;
      write(2);
      return (await seen()) === 2;
    } finally {
      await session.release();
    }
  } finally {
    closeSync(file);
    await rm(folder, { recursive: true, force: true });
  }
}
