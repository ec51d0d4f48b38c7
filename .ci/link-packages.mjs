// Links our own packages into node_modules, as npm does. If `git pull` brings a new package, the build works without
// `npm install`.
import './refuse-old-node.mjs';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';

const root = path.dirname(import.meta.dirname);
const folders = ['packages', 'adapters'].flatMap((group) =>
  readdirSync(path.join(root, group)).map((name) => path.join(root, group, name)),
);

for (const folder of folders) {
  const manifest = path.join(folder, 'package.json');
  if (!existsSync(manifest)) continue;
  const link = path.join(root, 'node_modules', JSON.parse(readFileSync(manifest, 'utf8')).name);
  if (existsSync(link)) continue;
  mkdirSync(path.dirname(link), { recursive: true });
  symlinkSync(process.platform === 'win32' ? folder : path.relative(path.dirname(link), folder), link, 'junction');
}
