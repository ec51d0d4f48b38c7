// A plugin of TypeDoc: a module has the name of its package instead of its folder.
import { readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');

function nameOf(folder) {
  const manifest = path.join(root, folder.replace(/\/src(\/index)?$/, ''), 'package.json');
  return JSON.parse(readFileSync(manifest, 'utf8')).name;
}

export function load(app) {
  app.converter.on('resolveBegin', ({ project }) => {
    for (const module of project.children ?? []) module.name = nameOf(module.name);
  });
}
