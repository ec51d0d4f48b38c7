import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { NightlyOutcome } from './nightly-job.js';
import { runGate } from './run-gate.js';

let folder = '';
beforeAll(() => void (folder = mkdtempSync(path.join(tmpdir(), 'nightly-gate-'))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const verdict = (cell: string, color: string) => ({ cell, color, reasons: [] });
const first = { cells: 2, red: 0, yellow: 0, green: 1, not_reached: 0, verdicts: [verdict('a.onnx', 'green')] };
const second = { ...first, red: 1, verdicts: [...first.verdicts, verdict('b.onnx', 'red')] };

/** Writes a gate that prints these lines and ends with this code. */
function gateOf(lines: readonly object[], code: number): string {
  const program = path.join(folder, `gate-${lines.length}-${code}.mjs`);
  const printed = lines.map((line) => `console.log(${JSON.stringify(JSON.stringify(line))});`).join('\n');
  writeFileSync(program, `${printed}\nprocess.exitCode = ${code};\n`);
  return program;
}

async function run(lines: readonly object[], code: number) {
  const kept: NightlyOutcome[] = [];
  const outcome = await runGate([], { keep: (soFar) => void kept.push(soFar), program: gateOf(lines, code) });
  return { outcome, kept };
}

it('the gate of a night keeps the verdicts after each cell', async () => {
  const { outcome, kept } = await run([first, second, second], 1);
  expect(kept.map(({ details }) => details)).toEqual([first, second, second]);
  expect(kept[0]?.summary).toBe('1 green, 0 yellow, 0 red of 2 cells, 0 not reached');
  expect(outcome).toEqual({
    passed: false,
    summary: '1 green, 0 yellow, 1 red of 2 cells, 0 not reached',
    details: second,
  });
});

it('a gate that breaks off says so, and has the verdicts until then', async () => {
  const { outcome } = await run([first], 7);
  expect(outcome).toEqual({
    passed: false,
    summary: 'the gate ended with 7; until then: 1 green, 0 yellow, 0 red of 2 cells, 0 not reached',
    details: first,
  });
  expect((await run([], 1)).outcome).toEqual({ passed: false, summary: 'the gate ended with 1', details: {} });
});
