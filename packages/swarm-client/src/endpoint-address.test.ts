import { expect, it } from 'vitest';
import { toEndpoint } from './endpoint-address.js';

it('completes an address that agents on other machines can use', () => {
  expect(toEndpoint()).toEqual({});
  expect(toEndpoint({ hostname: '0.0.0.0', port: 8710, publicUrl: 'http://10.0.0.5:8710/' })).toEqual({
    hostname: '0.0.0.0',
    port: 8710,
    publicUrl: 'http://10.0.0.5:8710/v1',
  });
  expect(toEndpoint({ publicUrl: 'https://models.example/a/v1' })).toEqual({
    publicUrl: 'https://models.example/a/v1',
  });
});

it.each([
  [{ hostname: '0.0.0.0' }, 'Give its public address too'],
  [{ hostname: '::' }, 'Give its public address too'],
  [{ port: 70_000 }, 'The port of the endpoint is 70000'],
  [{ port: Number.NaN }, 'The port of the endpoint is NaN'],
  [{ publicUrl: '10.0.0.5:8710' }, 'The public address of the endpoint is "10.0.0.5:8710"'],
])('refuses %j', (given, message) => {
  expect(() => toEndpoint(given)).toThrow(message);
});
