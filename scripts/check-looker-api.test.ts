import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { startViolationCollector, violationsIn } from './violation-collector.ts';

it('skips the check with a message when the document is missing', () => {
  const output = execFileSync(process.execPath, ['scripts/check-looker-api.ts'], {
    env: { PATH: process.env['PATH'] },
    encoding: 'utf8',
  });
  expect(output).toMatch(/^Nothing was checked: set LOOKER_OPENAPI/);
});

it('forwards calls without the prefix and records each finding of Prism once', async () => {
  const violation = { location: ['response', 'body', 'id'], severity: 'Error', message: 'must be string' };
  const prism = createServer((request, response) => {
    const isWrong = request.url?.startsWith('/looks') === true;
    response.setHeader('x-path', request.url ?? '');
    if (isWrong) response.setHeader('sl-violations', JSON.stringify([violation]));
    response.end('{"id":1}');
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void prism.close());
  await once(prism, 'listening');
  const { port } = prism.address() as AddressInfo;
  const collector = await startViolationCollector(`http://127.0.0.1:${port}`, '/api/4.0');
  onTestFinished(() => collector.stop());
  for (const path of ['/looks/1?fields=id', '/looks/1', '/users/1']) {
    const answer = await fetch(`${collector.url}/api/4.0${path}`);
    expect(answer.headers.get('x-path')).toBe(path);
    expect(await answer.json()).toEqual({ id: 1 });
  }
  expect(collector.violations()).toEqual([
    { call: 'GET /looks/1', text: 'error: response.body.id must be string' },
  ]);
  expect([...collector.calls]).toEqual(['GET /looks/1', 'GET /users/1']);
  expect(violationsIn('Too many violations! [{"loc')).toEqual(['Too many violations! [{"loc']);
});
