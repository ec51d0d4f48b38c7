// Compares how long the tests took with how long they may take.
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';

/** @param {string} file @param {string} folder */
const isIn = (file, folder) => folder === '' || file === folder || file.startsWith(`${folder}/`);

/**
 * Returns the minutes of each part: the seconds of its files, divided among the workers, on the machine of the budgets.
 * @param {Readonly<Record<string, number>>} seconds by file
 */
export function minutesByPart(seconds, shares, workers, slowness = 1) {
  const partOf = (file) => shares.find(({ folders }) => folders.some((folder) => isIn(file, folder)))?.part;
  return shares.map(({ part, minutes: allowed }) => {
    const own = Object.entries(seconds).filter(([file]) => partOf(file) === part);
    const minutes = own.reduce((sum, [, each]) => sum + each, 0) / workers / 60 / slowness;
    return { part, minutes, allowed, isOver: minutes > allowed };
  });
}

/**
 * Returns the exceeded budgets. A part's share keeps one part from using up the minutes of the others. A part that took
 * more than its share counts only if the tests as a whole took too long.
 */
export function exceededBudgets(parts, took, budgets) {
  const isTestOver = took.test > budgets.test;
  return [
    ...(isTestOver ? [`npm test: ${budgets.test} minutes`] : []),
    ...parts.filter(({ isOver }) => isOver && isTestOver).map(({ part, allowed }) => `${part}: ${allowed} minutes`),
    ...(took.ci !== undefined && took.ci > budgets.ci ? [`.ci/run: ${budgets.ci} minutes`] : []),
  ];
}

/**
 * Returns how many times as long as on the machine of the budgets the same work takes here. A fast machine counts as that
 * machine.
 * @param {readonly number[]} speeds of this machine, as shares of the speed for which the budgets are set
 */
export function slownessOf(speeds) {
  const mean = speeds.reduce((sum, speed) => sum + speed, 0) / speeds.length;
  return Math.max(1, 1 / mean);
}

export function formatParts(parts) {
  const used = parts.filter(({ minutes }) => minutes > 0);
  const line = ({ part, minutes, allowed, isOver }) =>
    `  ${part.padEnd(11)}${minutes.toFixed(2).padStart(6)} of ${allowed} min${isOver ? '  OVER' : ''}`;
  return used.map(line).join('\n');
}

/** Returns the slowest files with their seconds. */
export function slowestFiles(seconds, count) {
  return Object.entries(seconds)
    .sort(([, left], [, right]) => right - left)
    .slice(0, count)
    .map(([file, each]) => `  ${each.toFixed(1).padStart(6)} s  ${file}`)
    .join('\n');
}

/**
 * Returns the processor seconds of the whole machine, and those of this process and its ended children. Returns
 * undefined if they are not known.
 */
export function processorSeconds() {
  const machine = cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0) / 1000;
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return { machine, ours: ticks / 100 };
  } catch {
    return undefined;
  }
}

/**
 * Returns the share of the machine that other work used between two measurements, 0 to 1. If other work used too much,
 * no budget counts as exceeded.
 */
export function shareOfOthers(before, after, seconds) {
  if (before === undefined || after === undefined) return 0;
  const others = after.machine - before.machine - (after.ours - before.ours);
  return Math.min(1, Math.max(0, others / (seconds * cpus().length)));
}
