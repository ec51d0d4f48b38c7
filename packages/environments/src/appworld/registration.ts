import { ConfigError, setting, z } from '@agentjet/core';
import { defineEnvironment } from '@agentjet/rollout/inputs';

export const appworld = defineEnvironment({
  name: 'appworld',
  summary: 'environment servers of AppWorld',
  section: z.strictObject({
    urls: setting(z.array(z.string().min(1)), [], 'addresses; each server has one session at a time'),
    datasets: setting(
      z.string().min(1).nullable(),
      null,
      'folder with the task ids of each split, <split>.txt; null: tasks come from elsewhere',
      { path: 'file' },
    ),
    experiment_name: setting(z.string().min(1), 'agentjet', "the server's folder for its outputs"),
    max_interactions: setting(z.number().int().positive().nullable(), null, "null: the server's own limit"),
  }),
  async open({ urls, ...section }) {
    const [{ readAddress }, { openAppworld }] = await Promise.all([
      import('../http/read-address.js'),
      import('./appworld-environment.js'),
    ]);
    if (urls.length === 0)
      throw new ConfigError('bad_address', 'environment.appworld.urls is empty. Give the address of each server.');
    const addresses = urls.map((url) => readAddress(url, 'environment.appworld.urls', 'http://127.0.0.1:8000'));
    return openAppworld({ ...section, urls: addresses });
  },
});
