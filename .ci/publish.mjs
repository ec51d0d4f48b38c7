// `node .ci/publish.mjs [--registry <url>] [--first <n>] [--json]` publishes our packages, each after the packages that
// it uses. It skips a version that the registry already has, so running it again finishes an interrupted publication.
import './refuse-old-node.mjs';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { root, workspaces } from './workspaces.mjs';

const { values } = parseArgs({
  options: {
    registry: { type: 'string', default: 'https://registry.npmjs.org/' },
    first: { type: 'string', default: 'Infinity' },
    json: { type: 'boolean', default: false },
  },
});
/** True in a workflow of GitHub. Only such a run publishes provenance, because it needs a token that a trial lacks. */
const isWorkflow = process.env.GITHUB_ACTIONS === 'true' && process.env.ACTIONS_ID_TOKEN_REQUEST_URL !== undefined;
const say = (line) => (values.json ? console.error(line) : console.log(line));

function npm(...args) {
  const isWindows = process.platform === 'win32';
  return spawnSync(isWindows ? 'npm.cmd' : 'npm', [...args, '--registry', values.registry], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: isWindows,
    maxBuffer: 1 << 28,
  });
}

function isPublished({ name, manifest: { version } }) {
  const { status, stdout, stderr } = npm('view', `${name}@${version}`, 'version', '--json', '--prefer-online');
  if (status === 0) return stdout.trim() !== '';
  if (`${stdout}${stderr}`.includes('E404')) return false;
  throw new Error(`npm cannot look up ${name}@${version} in ${values.registry}:\n${stderr}`);
}

/** Returns true if this call published the package. */
function publish(each) {
  if (isPublished(each)) return false;
  const { version } = each.manifest;
  const tag = version.includes('-') ? 'next' : 'latest';
  const provenance = isWorkflow ? ['--provenance'] : [];
  const { status, stderr } = npm('publish', `./${each.dir}`, '--access', 'public', '--tag', tag, ...provenance);
  if (status === 0) return true;
  // Looks again, because another run may have published the package first, or the registry may have answered late.
  if (isPublished(each)) return false;
  throw new Error(`npm cannot publish ${each.name}@${version} to ${values.registry}:\n${stderr}`);
}

function checkVersions(packages) {
  const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  const others = packages.filter(({ manifest }) => manifest.version !== version);
  if (others.length > 0)
    throw new Error(`All packages must have version ${version}; others: ${others.map(({ name }) => name).join(', ')}.`);
  const { GITHUB_REF_TYPE: type, GITHUB_REF_NAME: tag } = process.env;
  if (type === 'tag' && tag !== `v${version}`)
    throw new Error(
      `The tag is ${tag} and the version is ${version}. Tag the commit v${version}, or change the version.`,
    );
}

/**
 * Writes the workflow's repository into package.json. Provenance names it, and npm refuses a package that names another
 * one.
 */
function nameRepository({ dir }) {
  const file = path.join(root, dir, 'package.json');
  const url = `git+${process.env.GITHUB_SERVER_URL}/${process.env.GITHUB_REPOSITORY}.git`;
  const manifest = { ...JSON.parse(readFileSync(file, 'utf8')), repository: { type: 'git', url, directory: dir } };
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
}

try {
  const packages = workspaces();
  checkVersions(packages);
  const count = { published: 0, skipped: 0 };
  for (const each of packages.slice(0, Number(values.first))) {
    if (isWorkflow) nameRepository(each);
    const isNew = publish(each);
    count[isNew ? 'published' : 'skipped']++;
    say(`${isNew ? 'published' : 'was there'}  ${each.name}@${each.manifest.version}`);
  }
  if (values.json) console.log(JSON.stringify({ packages: packages.length, ...count }));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
