import { HashTable } from '../table/hash-table.js';
import type { TaskRows } from '../table/task-rows.js';
import { repeatedId } from '../tasks/jsonl-tasks.js';

/** Throws TaskError `duplicate_task_id` with both places if two rows have the same id. */
export async function checkIds(rows: TaskRows): Promise<void> {
  const seen = new HashTable(rows.size);
  const pairs: [earlier: number, later: number][] = [];
  rows.forEachHash('id', (row, hash) => {
    if (seen.has(hash)) for (const earlier of seen.find(hash)) pairs.push([earlier, row]);
    if (pairs.length < 100) seen.add(hash, row);
  });
  for (const [earlier, later] of pairs) {
    const [first, second] = [await rows.taskAt(earlier), await rows.taskAt(later)];
    if (first.taskId === second.taskId)
      throw repeatedId(rows.placeOf(later), second.taskId, placeNextTo(rows.placeOf(earlier), rows.placeOf(later)));
  }
}

/** Returns `line 3` for a place in the same file, otherwise the whole place. */
function placeNextTo(earlier: string, later: string): string {
  const line = /^(.*):(\d+)$/.exec(earlier);
  return line !== null && later.startsWith(`${line[1]}:`) ? `line ${line[2]}` : earlier;
}
