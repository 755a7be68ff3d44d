// What a server does before its admission is open.
import { expect, it } from 'vitest';
import { admissionWorld } from '../../../test/support/tenancy/admission-world.ts';

/** The same object; its calls are recorded as `name.method`. */
function recording<T extends object>(name: string, target: T, calls: string[]): T {
  return new Proxy(target, {
    get: (of, key) => {
      const value: unknown = Reflect.get(of, key, of);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        calls.push(`${name}.${String(key)}`);
        return Reflect.apply(value, of, args);
      };
    },
  });
}

it('reads the state, restores slots, sends its heartbeat and renews leases before it serves (L5)', async () => {
  const doubles = await admissionWorld();
  await doubles.admission.close();
  const calls: string[] = [];
  const servers = recording('servers', doubles.servers, calls);
  const executions = recording('executions', doubles.executions, calls);
  const slots = recording('slots', doubles.slots, calls);
  const { admission } = await admissionWorld({
    beside: { ...doubles, servers, executions, slots },
    serverId: 'server-2',
  });
  calls.push('serves');
  const steps = ['servers.report', 'executions.unfinished', 'slots.restore', 'slots.heartbeat', 'serves'];
  expect([...new Set(calls)].filter((call) => steps.includes(call))).toEqual(steps);
  await admission.close();
});
