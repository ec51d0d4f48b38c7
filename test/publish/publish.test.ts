import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { workspaces } from '../../.ci/workspaces.mjs';
import { type LoopbackRegistry, startLoopbackRegistry } from './loopback-registry.js';

const root = path.resolve(import.meta.dirname, '../..');

it('publishes every package after all that it installs', () => {
  const names = workspaces().map(({ name }) => name);
  for (const [index, { name, manifest }] of workspaces().entries()) {
    const installed = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
    const later = installed.filter((each) => names.indexOf(each) > index);
    expect([name, later]).toEqual([name, []]);
  }
});

describe('the workflow that publishes', () => {
  type Step = { readonly run?: string };
  type Workflow = {
    readonly on: unknown;
    readonly jobs: Readonly<Record<string, { readonly permissions?: unknown; readonly steps: readonly Step[] }>>;
  };
  const text = readFileSync(path.join(root, '.github/workflows/publish.yml'), 'utf8');
  const workflow = parse(text) as Workflow;

  it('runs on tags of versions, with a token of its identity and no secret', () => {
    expect(workflow.on).toEqual({ push: { tags: ['v*'] } });
    expect(workflow.jobs['publish']?.permissions).toEqual({ contents: 'read', 'id-token': 'write' });
    expect(text).not.toMatch(/secrets\.|NODE_AUTH_TOKEN/);
  });

  it('tries the publication before it publishes', () => {
    const runs = workflow.jobs['publish']?.steps.flatMap(({ run }) => run ?? []) ?? [];
    expect(runs.slice(-2)).toEqual(['npm run publish:trial', 'node .ci/publish.mjs']);
  });
});

describe('the loopback registry', () => {
  let registry: LoopbackRegistry;
  beforeEach(async () => {
    registry = await startLoopbackRegistry({ upstream: 'http://upstream.invalid/mirror/' });
  });
  afterEach(() => registry.close());

  const publish = (version: string, data: string): Promise<Response> =>
    fetch(`${registry.url}@our%2fcore`, {
      method: 'PUT',
      body: JSON.stringify({
        name: '@our/core',
        versions: { [version]: { name: '@our/core', version } },
        _attachments: { 'any.tgz': { data: Buffer.from(data).toString('base64') } },
      }),
    });

  it('gives back what was published, by the address in its own description', async () => {
    expect((await publish('1.0.0', 'a tarball')).status).toBe(201);
    const packument = (await (await fetch(`${registry.url}@our%2fcore`)).json()) as {
      readonly versions: Readonly<Record<string, { readonly dist: { readonly tarball: string } }>>;
    };
    const tarball = packument.versions['1.0.0']?.dist.tarball ?? '';
    expect(await (await fetch(tarball)).text()).toBe('a tarball');
    expect(registry.published).toEqual(['@our/core@1.0.0']);
  });

  it('takes no version twice, and a newer one', async () => {
    await publish('1.0.0', 'first');
    expect((await publish('1.0.0', 'second')).status).toBe(403);
    expect((await publish('1.0.1', 'third')).status).toBe(201);
    expect(registry.published).toEqual(['@our/core@1.0.0', '@our/core@1.0.1']);
  });

  it('sends npm upstream for packages of others', async () => {
    const { status, headers } = await fetch(`${registry.url}@their%2fcore`, { redirect: 'manual' });
    expect([status, headers.get('location')]).toEqual([302, 'http://upstream.invalid/mirror/@their%2fcore']);
  });
});
