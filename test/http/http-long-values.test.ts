// Values of many characters in every text of every operation, on a real server: rejected or accepted, never a failure.
import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { startTestServer, testConfig } from '../support/test-server.ts';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly minItems?: number;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
}
interface Operation {
  readonly parameters?: readonly { readonly in: string; readonly name: string; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

/** Random, because Postgres compresses what it stores. */
const long = randomBytes(5_000).toString('hex');
/** It ends the server. */
const leftOut = /shutdown/;

it('returns no 500 for a value of 10,000 characters, wherever it is', async () => {
  const server = await startTestServer(await testConfig());
  const headers = { authorization: `Bearer ${server.adminToken}` };
  const get = (path: string) => fetch(server.url + path, { headers });
  const { paths, components } = (await (await get('/openapi.json')).json()) as {
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: Record<string, Schema> };
  };
  const resolve = (schema: Schema): Schema =>
    schema.$ref === undefined ? schema : (components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {});

  /** A value of the schema with the required fields, and with the long text in place of every text. */
  const sample = (given: Schema, text: string, isWhole: boolean): unknown => {
    const schema = resolve(given);
    if (schema.const !== undefined) return schema.const;
    if (schema.enum) return schema.enum[0];
    if (schema.anyOf) return sample(schema.anyOf[0] ?? {}, text, isWhole);
    const [type] = [schema.type].flat();
    if (type === 'string') return text;
    if (type === 'integer' || type === 'number') return Math.max(schema.minimum ?? 1, 1);
    if (type === 'boolean') return true;
    if (type === 'array') return [sample(schema.items ?? {}, text, isWhole)];
    if (type !== 'object') return text;
    const { properties = {}, required = [] } = schema;
    const names = isWhole ? Object.keys(properties) : required;
    return Object.fromEntries(names.map((name) => [name, sample(properties[name] ?? {}, text, isWhole)]));
  };

  const failures: string[] = [];
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(server.url + path, {
      method: method.toUpperCase(),
      headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    });
    // A live stream has no end.
    if (answer.status !== 500) return answer.body?.cancel();
    failures.push(`${method} ${path.slice(0, 80)}: ${await answer.text()}`);
  };

  let calls = 0;
  for (const [path, operations] of Object.entries(paths))
    for (const [method, { parameters = [], requestBody }] of Object.entries(operations)) {
      if (leftOut.test(path)) continue;
      const pathWith = (value: string) => path.replaceAll(/\{[^}]+\}/g, encodeURIComponent(value));
      const schema = requestBody?.content['application/json']?.schema;
      const bodyOf = (text: string, isWhole: boolean) => schema && sample(schema, text, isWhole);
      await call(method, pathWith(long.slice(0, 3_000)), bodyOf('a', false));
      for (const { in: place, name } of parameters)
        if (place === 'query') await call(method, `${pathWith('a')}?${name}=${long}`, bodyOf('a', false));
      calls += 1;
      if (!schema) continue;
      const { properties = {}, anyOf } = resolve(schema);
      for (const isWhole of [false, true]) await call(method, pathWith('a'), bodyOf(long, isWhole));
      const fields = anyOf
        ? anyOf.flatMap((each) => Object.entries(resolve(each).properties ?? {}))
        : Object.entries(properties);
      for (const [name, field] of fields) {
        const plain = bodyOf('a', false);
        if (typeof plain !== 'object') continue;
        await call(method, pathWith('a'), { ...plain, [name]: sample(field, long, false) });
      }
    }
  expect(calls).toBeGreaterThan(50);
  expect(failures).toEqual([]);
});
