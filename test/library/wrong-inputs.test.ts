// Calls every public function of the library with wrong values of every parameter and option: each is rejected with a
// HeadworksError that names what is wrong in the library's own words.
import { afterAll, beforeAll, expect, it } from 'vitest';
import * as admissionModule from '../../src/library/admission.ts';
import * as clientModule from '../../src/library/client.ts';
import * as extractionModule from '../../src/library/extraction.ts';
import * as gatewayModule from '../../src/library/gateway.ts';
import * as knowledgeModule from '../../src/library/knowledge.ts';
import * as resilienceModule from '../../src/library/resilience.ts';
import * as serverModule from '../../src/library/server.ts';
import { HeadworksError } from '../../src/core/errors.ts';
import { ownDatabase } from '../support/own-database.ts';

const modules = [
  admissionModule,
  clientModule,
  extractionModule,
  gatewayModule,
  knowledgeModule,
  resilienceModule,
  serverModule,
];

/** What a value must be: one that is valid, and some that are not. */
interface Kind {
  readonly valid: unknown;
  readonly wrong: readonly unknown[];
  readonly isRequired?: boolean;
  /** Fields of an object. */
  readonly fields?: Fields;
}

type Fields = Readonly<Record<string, Kind>>;
/** One kind for every option of T: a new option without one is a type error. */
type FieldsOf<T> = { readonly [Name in keyof Required<T>]: Kind };

const samples = {
  text: 'x',
  number: 5,
  boolean: true,
  null: null,
  list: [Symbol('item')],
  object: { a: 1 },
  function: () => undefined,
};
const except = (...names: readonly (keyof typeof samples)[]): readonly unknown[] =>
  Object.entries(samples).flatMap(([name, value]) => (names.includes(name as 'text') ? [] : [value]));

const text: Kind = { valid: 'x', wrong: [...except('text'), ''] };
const whole = (min: number, max = Number.MAX_SAFE_INTEGER): Kind => ({
  valid: min,
  wrong: [...except('number'), String(min), Number.NaN, Infinity, min - 1, min + 0.5, max + 2],
});
const amount = (min: number): Kind => ({
  valid: min,
  wrong: [...except('number'), String(min), Number.NaN, Infinity, min - 0.5],
});
const flag: Kind = { valid: true, wrong: [...except('boolean'), 'true', 0] };
const callback: Kind = { valid: () => undefined, wrong: except('function') };
const signal: Kind = {
  valid: new AbortController().signal,
  wrong: [...except(), { aborted: true }, new AbortController()],
};
const variables: Kind = { valid: {}, wrong: [...except('object'), { NAME: 5 }, { NAME: null }] };
const url = (valid: string): Kind => ({ valid, wrong: [...except('text'), '', 'foo', 'ftp://host'] });
const choice = (...values: readonly string[]): Kind => ({ valid: values[0], wrong: except() });
const texts: Kind = { valid: ['x'], wrong: [...except('list'), [5], [''], [null]] };
const object = <T extends object>(fields: FieldsOf<T>): Kind => ({
  valid: validOf(fields),
  wrong: except('object'),
  fields,
});
const required = (kind: Kind): Kind => ({ ...kind, isRequired: true });

const validOf = (fields: Fields): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, kind]) => (kind.isRequired ? [[name, kind.valid]] : [])),
  );

const store = { dataFolder: text, databaseUrl: url('postgres://host/database') };

/** A function with its parameters in their order. */
interface Callable {
  readonly name: string;
  readonly call: (...given: readonly never[]) => unknown;
  readonly parameters: Readonly<Record<string, Kind>>;
}

const callable = (
  name: string,
  parameters: Readonly<Record<string, Kind>>,
  call: (...given: readonly never[]) => unknown,
): Callable => ({ name, parameters, call });

let database: Awaited<ReturnType<typeof ownDatabase>>;
let gateway: gatewayModule.Gateway;
let knowledge: knowledgeModule.Knowledge;
let admission: admissionModule.Admission;

beforeAll(async () => {
  database = await ownDatabase();
  gateway = await gatewayModule.createGateway({ databaseUrl: database.url });
  knowledge = await knowledgeModule.createKnowledge({ databaseUrl: database.url });
  admission = await admissionModule.createAdmission();
});

afterAll(async () => {
  await gateway.close();
  await knowledge.close();
  await admission.close();
  await database.drop();
});

const limiter = resilienceModule.createRateLimiter({ perSecond: 1_000 });
const breaker = resilienceModule.createCircuitBreaker({ failureThreshold: 5, resetTimeoutMs: 1_000 });
const queue = new resilienceModule.BoundedQueue<string>({ maxItems: 1_000 });
const client = clientModule.createClient({ baseUrl: 'http://127.0.0.1:1' });

const model = object<gatewayModule.GatewayModel>({
  name: required({ ...text, wrong: [...text.wrong, 'a b', 'auto'] }),
  baseUrl: required(url('http://127.0.0.1:1/v1')),
  envVar: {
    valid: 'MINE_API_KEY',
    wrong: [...except('text', 'null'), '', 'K1', 'PRIMARY_KEY', 'AWS_API_KEY'],
  },
  model: text,
});

const message = object<gatewayModule.Message>({
  role: required(choice('user')),
  content: required({ valid: '', wrong: except('text') }),
});

const callables: readonly Callable[] = [
  callable(
    'createAdmission',
    {
      options: object<admissionModule.AdmissionOptions>({
        globalLimit: whole(1, 2_147_483_647),
        defaultLimit: whole(1, 2_147_483_647),
        limits: {
          valid: {},
          wrong: [
            ...except('object'),
            ...whole(1, 2_147_483_647).wrong.map((limit) => ({ acme: limit })),
            { '': 1 },
          ],
        },
        redisUrl: url('redis://127.0.0.1:1'),
        keyPrefix: { ...text, wrong: [...text.wrong, 'a b'] },
        redisFailureMode: choice('open', 'closed'),
      }),
    },
    admissionModule.createAdmission,
  ),
  callable(
    'acquire',
    {
      organization: required(text),
      options: object<{ waitMs: number; signal: AbortSignal }>({ waitMs: amount(0), signal }),
    },
    (...given) => admission.acquire(...(given as unknown as [never, never])),
  ),
  callable(
    'setLimit',
    { organization: required(text), limit: required(whole(1, 2_147_483_647)) },
    (...given) => admission.setLimit(...(given as unknown as [never, never])),
  ),
  callable(
    'createClient',
    {
      options: required(
        object<clientModule.ClientOptions>({
          baseUrl: required(url('http://127.0.0.1:1')),
          token: text,
          timeoutMs: whole(1, 2_147_483_647),
          fetch: callback,
        }),
      ),
    },
    clientModule.createClient,
  ),
  callable(
    'call',
    {
      route: required({
        valid: 'GET /api/v1/ledger/:id',
        wrong: [...text.wrong, 'GET', 'LIST /api/v1/ledger'],
      }),
      input: object<{ params: object; query: object; body: unknown; signal: AbortSignal }>({
        params: required({
          valid: { id: 'x' },
          wrong: [...except(), {}, { id: '' }, { id: null }, { id: {} }, { id: 'x', it: 'y' }],
        }),
        query: {
          valid: {},
          wrong: [...except('object'), { a: {} }, { a: null }, { a: [{}] }, { a: Number.NaN }],
        },
        body: { valid: {}, wrong: [samples.function, 5n] },
        signal,
      }),
    },
    (...given) => client.call(...(given as unknown as [never, never])),
  ),
  callable(
    'extract',
    {
      options: required(
        object<extractionModule.ExtractOptions>({
          source: required({ ...text, wrong: [...text.wrong, '/nonexistent/source.yaml'] }),
          vault: required(text),
          ratePerMinute: whole(1, 1_000_000),
          ratePerSecond: whole(1, 1_000_000),
          workers: whole(1, 50),
          types: { ...texts, wrong: [...texts.wrong, ['a b']] },
          fresh: flag,
          env: variables,
          dataFolder: text,
          signal,
        }),
      ),
    },
    extractionModule.extract,
  ),
  callable('openVault', { path: required({ ...text, wrong: text.wrong }) }, extractionModule.openVault),
  callable(
    'createGateway',
    {
      options: object<gatewayModule.GatewayOptions>({
        ...store,
        models: {
          valid: [],
          wrong: [...except('list'), [5], [null], [{}], ...wrongObjects(model).map((each) => [each])],
        },
        env: variables,
        maxRetries: whole(0, 100),
        timeoutMs: { ...amount(1_000), wrong: [...amount(1_000).wrong, 3_600_001] },
      }),
    },
    gatewayModule.createGateway,
  ),
  callable(
    'complete',
    {
      request: required(
        object<gatewayModule.CompletionRequest>({
          prompt: required({
            valid: 'x',
            wrong: [...except('text', 'list'), '', [], [5], ...wrongObjects(message).map((each) => [each])],
          }),
          model: text,
          temperature: amount(0),
          maxTokens: whole(1),
          json: flag,
          signal,
        }),
      ),
    },
    (...given) => gateway.complete(...(given as unknown as [never])),
  ),
  callable(
    'embed',
    {
      request: required(
        object<Parameters<gatewayModule.Gateway['embed']>[0]>({
          model: required(text),
          texts: required({ ...texts, wrong: [...texts.wrong, []] }),
          signal,
        }),
      ),
    },
    (...given) => gateway.embed(...(given as unknown as [never])),
  ),
  callable(
    'createKnowledge',
    {
      options: object<knowledgeModule.KnowledgeOptions>({
        ...store,
        model: { valid: { complete: () => undefined }, wrong: [...except(), { complete: 5 }] },
        onDegradation: callback,
      }),
    },
    knowledgeModule.createKnowledge,
  ),
  callable(
    'ingest',
    {
      document: required(
        object<knowledgeModule.Document>({
          title: required({ ...text, wrong: except('text') }),
          text: required({ ...text, wrong: [...text.wrong, '  ', '\0'] }),
          id: { ...text, wrong: [...text.wrong, ' ', 'x'.repeat(2_001), 'ä'.repeat(1_001)] },
          date: { valid: new Date(0), wrong: [...except(), '2026-01-01', new Date('never')] },
        }),
      ),
      signal,
    },
    (...given) => knowledge.ingest(...(given as unknown as [never])),
  ),
  callable(
    'search',
    {
      query: required({ ...text, wrong: [...text.wrong, '  '] }),
      options: object<{ limit: number; signal: AbortSignal }>({ limit: whole(1, 50), signal }),
    },
    (...given) => knowledge.search(...(given as unknown as [never])),
  ),
  callable(
    'createRateLimiter',
    {
      options: required(
        object<resilienceModule.RateLimiterOptions>({
          perSecond: required(whole(1, 1_000_000)),
          perMinute: whole(1, 1_000_000),
          isAdaptive: flag,
        }),
      ),
    },
    resilienceModule.createRateLimiter,
  ),
  callable('limiter.acquire', { signal }, (...given) => limiter.acquire(...given)),
  callable(
    'rateLimited',
    {
      hint: {
        valid: {},
        wrong: [...except('object'), ...amount(0).wrong.map((retryAfterMs) => ({ retryAfterMs }))],
      },
    },
    async (...given) => (await limiter.acquire()).rateLimited(...given),
  ),
  callable(
    'retry',
    {
      work: required({ valid: () => Promise.resolve(), wrong: except('function') }),
      options: required(
        object<resilienceModule.RetryOptions>({
          retries: required(whole(0)),
          isRetryable: callback,
          initialDelayMs: amount(0),
          maxDelayMs: amount(0),
          signal,
        }),
      ),
    },
    resilienceModule.retry,
  ),
  callable(
    'createCircuitBreaker',
    {
      options: required(
        object<resilienceModule.CircuitBreakerOptions>({
          failureThreshold: required(whole(1)),
          resetTimeoutMs: required(amount(0)),
        }),
      ),
    },
    resilienceModule.createCircuitBreaker,
  ),
  callable(
    'execute',
    { work: required({ valid: () => Promise.resolve(), wrong: except('function') }), signal },
    (...given) => breaker.execute(...(given as unknown as [never])),
  ),
  callable(
    'BoundedQueue',
    {
      options: required(
        object<{ maxItems: number; maxBytes: number }>({
          maxItems: required(whole(1)),
          maxBytes: { valid: 1, wrong: [...except('number'), '1', Number.NaN, 0, -1] },
        }),
      ),
    },
    (...given) => new resilienceModule.BoundedQueue(...(given as unknown as [never])),
  ),
  callable('put', { item: { valid: 'x', wrong: [] }, bytes: amount(0), signal }, (...given) =>
    queue.put(...(given as unknown as [never])),
  ),
  callable('take', { signal }, async (...given) => {
    await queue.put('x');
    return queue.take(...given);
  }),
  callable(
    'retryHintOf',
    { response: required({ valid: new Response(), wrong: [...except(), {}, new Headers()] }) },
    resilienceModule.retryHintOf,
  ),
  callable(
    'startServer',
    {
      options: object<serverModule.ServerOptions>({
        ...store,
        port: whole(0, 65_535),
        host: { ...text, wrong: [...text.wrong, 'http://x'] },
        redisUrl: url('redis://127.0.0.1:1'),
        env: variables,
      }),
    },
    serverModule.startServer,
  ),
];

/** Objects with one wrong, missing or unknown field. */
function wrongObjects({ valid, fields = {} }: Kind): readonly Readonly<Record<string, unknown>>[] {
  const whole = valid as Readonly<Record<string, unknown>>;
  return Object.entries(fields).flatMap(([name, kind]) => [
    ...kind.wrong.map((value) => ({ ...whole, [name]: value })),
    ...(kind.isRequired ? [Object.fromEntries(Object.entries(whole).filter(([key]) => key !== name))] : []),
  ]);
}

interface Case {
  readonly given: readonly unknown[];
  /** One of these must be in the message. */
  readonly names: readonly string[];
}

function casesOf({ name, parameters }: Callable): readonly Case[] {
  const entries = Object.entries(parameters);
  const valid = entries.map(([, kind]) => kind.valid);
  return entries.flatMap(([parameter, kind], index) => {
    const withValue = (value: unknown, names: readonly string[]): Case => ({
      given: valid.with(index, value),
      names,
    });
    const { fields = {} } = kind;
    const whole = kind.valid as Readonly<Record<string, unknown>>;
    return [
      ...[...kind.wrong, ...(kind.isRequired ? [undefined] : [])].map((value) =>
        withValue(value, [parameter, name, ...Object.keys(fields).slice(0, 1)]),
      ),
      ...(kind.fields ? [withValue({ ...whole, unknwon: 1 }, [`has no option "unknwon"`])] : []),
      ...Object.entries(fields).flatMap(([field, inner]) => [
        ...inner.wrong.map((value) => withValue({ ...whole, [field]: value }, [field])),
        ...(inner.isRequired
          ? [withValue(Object.fromEntries(Object.entries(whole).filter(([key]) => key !== field)), [field])]
          : []),
      ]),
    ];
  });
}

/** Names of flags, environment variables, routes and commands, and the texts of JavaScript's own errors. */
const serverTerms =
  /--[a-z]|HEADWORKS_|\b[A-Z]+_URL\b|(?:GET|POST|PUT|DELETE) \/|"headworks |undefined|\[object|Cannot |is not a function|is not iterable|NaN/;

async function problemOf({ call }: Callable, { given, names }: Case): Promise<readonly string[]> {
  const error = await Promise.try(call, ...(given as [])).then(
    () => 'accepted',
    (reason: unknown) => reason,
  );
  const shown = given.map((each) => (typeof each === 'function' ? 'function' : show(each))).join(', ');
  if (!(error instanceof HeadworksError)) return [`${shown}: ${String(error)}`];
  const isNamed = names.some((name) => error.message.includes(name));
  const isCoded = /^(?:INPUT_INVALID|EXTRACTION_SOURCE_INVALID|SQLITE_UNUSABLE)$/.test(error.code);
  // The client's own option is a route.
  const text = error.message.replace('"GET /api/v1/ledger"', '');
  const isSentence = text.endsWith('.') && !serverTerms.test(text);
  return isNamed && isCoded && isSentence ? [] : [`${shown}: ${error.code} ${error.message}`];
}

const show = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'function' || typeof inner === 'symbol' || typeof inner === 'bigint'
      ? String(inner)
      : inner instanceof AbortSignal
        ? 'signal'
        : typeof inner === 'number' && !Number.isFinite(inner)
          ? String(inner)
          : inner,
  )?.slice(0, 200) ?? 'undefined';

it.for(callables.map((each) => [each.name, each] as const))(
  '%s rejects every wrong value with a code and the name of the option',
  async ([, each]) => {
    const cases = casesOf(each);
    expect(cases.length).toBeGreaterThan(5);
    const problems: string[] = [];
    for (const one of cases) problems.push(...(await problemOf(each, one)));
    expect(problems).toEqual([]);
  },
);

it('covers every exported function and class', () => {
  const exported = modules.flatMap((module) =>
    Object.entries(module).flatMap(([name, value]) => (typeof value === 'function' ? [name] : [])),
  );
  const errors = ['HeadworksError', 'ApiCallError'];
  expect(
    exported.filter((name) => !errors.includes(name) && !callables.some((each) => each.name === name)),
  ).toEqual([]);
});
