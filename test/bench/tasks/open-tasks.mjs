// Opens a file of tasks as a run does, on the built packages, and prints the cost. The memory is the largest that the
// process ever had.
import { createFileReader } from '@agentjet/data';
import { readPeakMemory } from '@agentjet/run-folder';

globalThis.gc?.();
const before = process.memoryUsage().rss;
const begun = performance.now();
const reader = createFileReader({
  training: process.argv[2] ?? '',
  validation: null,
  fields: {},
  split: { evaluation: 0, by: 'content' },
  allowOverlap: false,
  duplicates: 'keep',
  similarity: 0.8,
  onNotice: (message) => console.error(message),
});
const table = await reader.trainingTable?.();
const opened = performance.now();
await table?.taskAt(Math.floor((table.size ?? 0) / 3));
const read = performance.now();
console.log(
  JSON.stringify({
    rows: table?.size,
    open_ms: opened - begun,
    first_task_ms: read - opened,
    rss_added_mb: (readPeakMemory() - before) / 2 ** 20,
  }),
);
