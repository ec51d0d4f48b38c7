import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { absentEngine, harborSettings } from '../testing/harbor-settings.js';
import { openHarbor } from './harbor-environment.js';

const folder = mkdtempSync(path.join(tmpdir(), 'harbor-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('gives a step the time to be scored and to prepare the step that follows it', async () => {
  const toml = [
    '[environment]\nbuild_timeout_sec = 2000',
    '[[steps]]\nname = "a"\nverifier.timeout_sec = 3000',
    '[[steps]]\nname = "b"\nverifier.timeout_sec = 1',
  ];
  const files = {
    'task.toml': toml.join('\n'),
    'environment/Dockerfile': 'FROM x',
    'tests/test.sh': 'true',
    'steps/a/instruction.md': 'First.',
    'steps/b/instruction.md': 'Second.',
    'steps/b/workdir/setup.sh': 'true',
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  const harbor = openHarbor({ ...harborSettings, engine: absentEngine, requireSeparateVerifier: false });
  const task = { taskId: 't', mainQuery: '', initMessages: [], metadata: { harbor: { folder } } };
  const { call, evaluate } = (await harbor.limits?.(task)) ?? {};
  expect(call).toBeGreaterThanOrEqual(3000 + 2000);
  expect(evaluate).toBeGreaterThanOrEqual(3000 + 2000 + 1);
});
