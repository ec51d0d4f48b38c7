import { configuration } from 'agentjet';
import { expect, it } from 'vitest';

/**
 * `debug.base_url` may hold a user and a password. They were written into config.yaml, into the report, and into
 * errors.
 */

it('credentials of an address are not in the text of a configuration', () => {
  const config = configuration.create({ debug: { baseUrl: 'https://ann:s3cret@models.example:8443/v1' } });
  const text = configuration.format(config);
  expect(text).toContain('https://models.example:8443/v1');
  expect(text).not.toMatch(/ann|s3cret/);
});

it('nor in the message about a wrong one', () => {
  const create = (): unknown =>
    configuration.create({ debug: { baseUrl: ['https://ann:s3cret@models.example/v1'] as unknown as string } });
  expect(create).toThrow(/debug\.base_url/);
  expect(create).not.toThrow(/s3cret/);
});
