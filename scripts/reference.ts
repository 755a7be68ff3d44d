// npm run docs: writes docs/reference/ and the example configuration from the code. `--check` only compares, for
// `npm run check`.
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import { z } from 'zod';
import type { Operation, RawOutput } from '../src/api/operation.ts';
import { serverApi } from '../src/api/server.ts';
import { eventSpecs } from '../src/app/telemetry.ts';
import { exitCodeMeanings, exitCodes } from '../src/cli/exit-codes.ts';
import { listOptions, optionReference, optionSections } from '../src/config/index.ts';
import type { ErrorCodes } from '../src/core/errors.ts';
import type { EventCounter, EventSpec, EventSpecs } from '../src/core/telemetry.ts';
import { extractionEvents } from '../src/extraction/events.ts';
import { documentedProgram } from './doc-facts.ts';

const note = '<!-- Written by `npm run docs`; change the code, not this page. -->';

/** Every export of the files that match, whose name ends with `suffix`. */
async function exportsOf<T>(pattern: string, suffix: string): Promise<readonly [path: string, value: T][]> {
  const paths = globSync(pattern)
    .filter((path) => !path.includes('.test.'))
    .sort();
  const found = await Promise.all(
    paths.map(async (path) => {
      const module = (await import(resolve(path))) as Record<string, unknown>;
      return Object.entries(module)
        .filter(([name]) => name.endsWith(suffix))
        .map(([, value]): [string, T] => [path, value as T]);
    }),
  );
  return found.flat();
}

/** Escapes a table cell; a cell that is code needs no more than the bar. */
const escape = (text: string): string => {
  const safe = text.replaceAll('|', String.raw`\|`);
  return text.startsWith('`') ? safe : safe.replaceAll('<', String.raw`\<`);
};

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
  return line(header) + line(header.map(() => '---')) + rows.map((row) => line(row.map(escape))).join('');
}

const domainOf = (path: string): string => /^src\/([^/]+)/.exec(path)?.[1] ?? path;

// --- command line

async function commandPage(): Promise<string> {
  const intro =
    '# Command line\n\n' +
    `${note}\n\nEvery command takes \`--help\` (with examples) and \`--json\` (one document, or one object per line for streams).\n` +
    'Global options: `--config FILE`, `--data-dir PATH`, `--server URL`, `--log-level LEVEL`, `--no-color`.\n\n' +
    'An error is one line on stderr; with `--json` it is `{ "error": { "code", "message" } }` there. An invalid command line has\n' +
    'the code `USAGE`; the [other codes](errors.md) are those of the HTTP API.\n\n' +
    table(
      ['exit code', 'meaning'],
      Object.entries(exitCodes).map(([name, code]) => [
        `${code}`,
        exitCodeMeanings[name as keyof typeof exitCodes],
      ]),
    );
  const { commands } = await documentedProgram();
  return (
    intro +
    commands
      .filter((each) => each.name() !== 'help')
      .map((each) => commandSection(each, 'headworks'))
      .join('')
  );
}

function commandSection(command: Command, parent: string): string {
  const name = `${parent} ${command.name()}`;
  const subcommands = command.commands.filter((each) => each.name() !== 'help');
  const depth = name.split(' ').length;
  const options = command.options.filter((option) => !option.hidden);
  return [
    `\n${'#'.repeat(Math.min(depth, 4))} ${name}\n`,
    `\n${sentence(command.description())}\n`,
    subcommands.length > 0 ? '' : `\n\`\`\`\n${name} ${command.usage()}\n\`\`\`\n`,
    options.length === 0 || subcommands.length > 0
      ? ''
      : `\n${table(
          ['option', 'description'],
          options.map((option) => [`\`${option.flags}\``, optionText(option)]),
        )}`,
    ...subcommands.map((each) => commandSection(each, name)),
  ].join('');
}

function optionText(option: Command['options'][number]): string {
  const extra = [
    option.argChoices ? `one of ${option.argChoices.join(', ')}` : null,
    option.defaultValue === undefined || option.defaultValue === false || option.defaultValue === null
      ? null
      : `default ${option.defaultValueDescription ?? JSON.stringify(option.defaultValue)}`,
  ].filter((part) => part !== null);
  return sentence(option.description) + (extra.length === 0 ? '' : ` (${extra.join('; ')})`);
}

const sentence = (text: string): string => (text === '' ? '' : text.charAt(0).toUpperCase() + text.slice(1));

// --- errors

async function errorPage(): Promise<string> {
  const catalogs = await exportsOf<ErrorCodes>('src/**/errors.ts', 'ErrorCodes');
  const sections = catalogs.map(
    ([path, codes]) =>
      `\n## ${domainOf(path)}\n\n${table(
        ['code', 'category', 'consequence'],
        Object.entries(codes).map(([code, { category, consequence }]) => [
          `\`${code}\``,
          category,
          consequence,
        ]),
      )}`,
  );
  return (
    `# Errors\n\n${note}\n\nEvery error has a stable code, a message that says what happened and what to do, and a category from which\n` +
    'its HTTP status and exit code derive. Over HTTP: `{ "error": { "code", "message", "request_id" } }`.\n' +
    sections.join('')
  );
}

// --- events and metrics

/** Events of servers and, since a command may extract by itself, of extractions. */
const eventCatalogs = (): readonly [string, EventSpecs][] => [
  ['server', eventSpecs],
  ['extraction', extractionEvents],
];

function eventPage(): string {
  const rows = eventCatalogs().flatMap(([, events]) =>
    Object.entries(events).map(([name, spec]) => [
      `\`${name}\``,
      spec.level,
      spec.message,
      metricNames(spec).join(', '),
    ]),
  );
  return (
    `# Events\n\n${note}\n\nEvery event is a log line of its level, a message on the live stream (\`GET /api/v1/live\`) and, where named, a metric.\n\n` +
    table(['event', 'level', 'log message', 'metrics'], unique(rows))
  );
}

const countersOf = (
  spec: EventSpec<Record<string, unknown>>,
): readonly EventCounter<Record<string, unknown>>[] =>
  spec.counter === undefined
    ? []
    : Array.isArray(spec.counter)
      ? spec.counter
      : [spec.counter as EventCounter<Record<string, unknown>>];

const metricNames = (spec: EventSpec<Record<string, unknown>>): readonly string[] =>
  [
    ...new Set([
      ...countersOf(spec).map(({ name }) => name),
      ...(spec.histogram ? [spec.histogram.name] : []),
    ]),
  ].map((name) => `\`${name}\``);

function metricPage(): string {
  const fromEvents = eventCatalogs().flatMap(([, events]) =>
    Object.values(events).flatMap((spec: EventSpec<Record<string, unknown>>) => [
      ...countersOf(spec).map(({ name, help, labels = [], fixedLabels = {} }) => [
        name,
        'counter',
        [...labels, ...Object.keys(fixedLabels)].join(', '),
        help,
      ]),
      ...(spec.histogram
        ? [[spec.histogram.name, 'histogram', (spec.histogram.labels ?? []).join(', '), spec.histogram.help]]
        : []),
    ]),
  );
  const gauges = gaugesInSource();
  const rows = unique([...fromEvents, ...gauges]).toSorted(([a = ''], [b = '']) => a.localeCompare(b));
  return (
    `# Metrics\n\n${note}\n\n\`GET /metrics\` in Prometheus format. Besides these, the default metrics of prom-client (\`process_*\`, \`nodejs_*\`).\n` +
    'Alert rules and a Grafana dashboard are in `monitoring/`.\n\n' +
    table(
      ['metric', 'type', 'labels', 'meaning'],
      rows.map(([name = '', ...rest]) => [`\`${name}\``, ...rest]),
    )
  );
}

/** Gauges are registered where they are read, so they are found in the source. */
function gaugesInSource(): readonly string[][] {
  return globSync('src/**/*.ts')
    .filter((path) => !path.includes('.test.'))
    .flatMap((path) =>
      [
        ...readFileSync(path, 'utf8').matchAll(
          /name: '(headworks_\w+)',\s*help:\s*'((?:[^'\\]|\\.)*)'(?:,\s*labels: \[([^\]]*)\])?/g,
        ),
      ].map(([, name = '', help = '', labels = '']) => [
        name,
        'gauge',
        labels.replaceAll(/['\s]/g, '').replaceAll(',', ', '),
        help.replaceAll(String.raw`\'`, "'"),
      ]),
    );
}

/** First occurrence of each name. */
const unique = (rows: readonly (readonly string[])[]): readonly (readonly string[])[] =>
  [...new Map(rows.toReversed().map((row) => [row[0] ?? '', row])).values()].toReversed();

// --- HTTP

async function httpPage(): Promise<string> {
  const apis = await exportsOf<Readonly<Record<string, Operation>>>('src/api/*.ts', 'Api');
  const operations = apis.flatMap(([, api]) => Object.values(api));
  const byTag = Map.groupBy(operations, ({ tag, id }) => tag ?? id.split('.', 1)[0] ?? '');
  const sections = [...byTag]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([tag, list]) => `\n## ${tag}\n${list.map(operationSection).join('')}`);
  return (
    `# HTTP API\n\n${note}\n\nThe same as OpenAPI: \`${serverApi.getOpenApi.route}\`; as a page: \`/docs\` of a running server. Send the admin token or a key as\n` +
    '`Authorization: Bearer …`. Lists take `limit` and `after`, and return `next`.\n' +
    'Responses are listed two levels deep; the OpenAPI document has the rest.\n' +
    sections.join('')
  );
}

function operationSection(operation: Operation): string {
  const fields = [
    ...fieldRows('path', operation.params),
    ...fieldRows('query', operation.query),
    ...(operation.method === 'GET' ? [] : fieldRows('body', operation.body)),
    ...('content' in operation.output ? [] : fieldRows('response', operation.output)),
  ];
  return (
    `\n### ${operation.summary}\n\n\`${operation.route}\` (${operation.id}, access: ${JSON.stringify(operation.access).replaceAll('"', '')})\n` +
    (operation.description === undefined ? '' : `\n${operation.description}\n`) +
    ('content' in operation.output ? `\n${rawResponse(operation.output)}\n` : '') +
    (fields.length === 0 ? '' : `\n${table(['field', 'in', 'type', 'description'], fields)}`)
  );
}

const rawResponse = ({ description, content }: RawOutput): string =>
  `Response (${Object.keys(content).join(', ')}): ${description}`;

interface FieldSchema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, FieldSchema>>;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly description?: string;
  readonly default?: unknown;
  readonly anyOf?: readonly FieldSchema[];
  readonly oneOf?: readonly FieldSchema[];
  readonly items?: FieldSchema;
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
}

type FieldLocation = 'path' | 'query' | 'body' | 'response';

function fieldRows(location: FieldLocation, schema: z.ZodType | undefined): readonly string[][] {
  if (!schema) return [];
  const io = location === 'response' ? 'output' : 'input';
  const root = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as FieldSchema;
  return propertyRows(location, '', root, root.$defs ?? {});
}

/** Fields of the object, of each object in the array, or of all alternatives. */
function propertyRows(
  location: FieldLocation,
  prefix: string,
  schema: FieldSchema,
  definitions: Readonly<Record<string, FieldSchema>>,
): readonly string[][] {
  const json = resolved(schema, definitions);
  if (json.items) return propertyRows(location, `${prefix}[]`, json.items, definitions);
  const choices = (json.anyOf ?? json.oneOf ?? []).map((each) => resolved(each, definitions));
  const object = json.properties ? json : (choices.find(({ items }) => items) ?? alternatives(choices));
  if (object?.items) return propertyRows(location, prefix, object, definitions);
  return Object.entries(object?.properties ?? {}).flatMap(([name, property]) => {
    const field = resolved(property, definitions);
    const path = prefix === '' ? name : `${prefix}.${name}`;
    const isRequired = object?.required?.includes(name) ?? false;
    const mark =
      location === 'response' ? (isRequired ? '' : ' (optional)') : isRequired ? ' (required)' : '';
    const row = [
      `\`${path}\`${mark}`,
      location,
      typeText(field, definitions),
      [
        property.description ?? field.description ?? '',
        field.default === undefined || location === 'response'
          ? ''
          : `Default: ${JSON.stringify(isFlag(field) ? field.default === 'true' : field.default)}.`,
      ]
        .filter((part) => part !== '')
        .join(' '),
    ];
    // Deeper fields are in the OpenAPI document.
    const isNested = location === 'response' && !prefix.includes('.') && prefix.split('[]').length < 3;
    return isNested ? [row, ...propertyRows(location, path, field, definitions)] : [row];
  });
}

/** One object with the fields of several; a field that differs has all of its types. */
function alternatives(choices: readonly FieldSchema[]): FieldSchema | undefined {
  const objects = choices.filter(({ properties }) => properties);
  const names = new Set(objects.flatMap(({ properties }) => Object.keys(properties ?? {})));
  const fieldsOf = (name: string) => objects.flatMap(({ properties }) => properties?.[name] ?? []);
  const joined = (fields: readonly FieldSchema[]): FieldSchema => {
    const distinct = [...new Map(fields.map((field) => [JSON.stringify(field), field])).values()];
    const [first] = distinct;
    return first && distinct.length === 1
      ? first
      : { anyOf: distinct, ...(first?.description && { description: first.description }) };
  };
  return {
    properties: Object.fromEntries([...names].map((name) => [name, joined(fieldsOf(name))])),
    required: [...names].filter((name) => objects.every(({ required }) => required?.includes(name))),
  };
}

function resolved(schema: FieldSchema, definitions: Readonly<Record<string, FieldSchema>>): FieldSchema {
  const name = schema.$ref?.replace(/^#\/\$defs\//, '');
  return name === undefined ? schema : { ...definitions[name], ...schema, $ref: undefined };
}

/** `queryFlag`: a boolean as text. */
const isFlag = ({ enum: values }: FieldSchema): boolean =>
  values?.includes('True') === true && values.includes('False');

function typeText(schema: FieldSchema, definitions: Readonly<Record<string, FieldSchema>>): string {
  const field = resolved(schema, definitions);
  if (isFlag(field)) return 'boolean';
  if (field.enum) return field.enum.map((value) => JSON.stringify(value)).join(', ');
  if (field.const !== undefined) return JSON.stringify(field.const);
  const choices = field.anyOf ?? field.oneOf;
  if (choices) return [...new Set(choices.map((each) => typeText(each, definitions)))].join(' or ');
  return field.type === undefined ? 'any' : [field.type].flat().join(' or ');
}

// --- example configuration

function exampleYaml(): string {
  const sections = Object.entries(optionSections).map(([name, section]) => {
    const options = listOptions({ [name]: section }).filter(({ spec }) => !spec.secret);
    const lines = options.map(({ path, spec }) => {
      const key = path.split('.').at(-1) ?? '';
      return `  # ${spec.describe.replaceAll('\n', ' ')}\n  # Allowed: ${spec.allowed}\n  # ${key}: ${yamlDefault(spec.default)}\n`;
    });
    return `# ${section.describe}\n# ${name}:\n${lines.join('')}`;
  });
  return `# Every option with its default. Copy to headworks.yaml and uncomment what you change.\n# Secrets belong in the environment: see .env.example.\n\n${sections.join('\n')}`;
}

const yamlDefault = (value: unknown): string =>
  value === null || value === undefined ? 'null' : JSON.stringify(value);

function exampleEnv(): string {
  const secrets = listOptions(optionSections).filter(({ spec }) => spec.secret && spec.env.length > 0);
  const lines = secrets.map(({ spec }) => `# ${spec.describe.replaceAll('\n', ' ')}\n# ${spec.env[0]}=\n`);
  return (
    '# Secrets of a Headworks server. Copy to .env and load it with your process manager, or with:\n#   set -a; . ./.env; set +a\n\n' +
    `${lines.join('\n')}\n# Keys of model providers; several keys in one variable, separated by commas, are used in turn.\n# OPENAI_API_KEY=\n# GROQ_API_KEY=\n# GEMINI_API_KEY=\n`
  );
}

const pages: Readonly<Record<string, string>> = {
  'docs/reference/configuration.md': optionReference(),
  'docs/reference/cli.md': await commandPage(),
  'docs/reference/errors.md': await errorPage(),
  'docs/reference/events.md': eventPage(),
  'docs/reference/metrics.md': metricPage(),
  'docs/reference/http.md': await httpPage(),
  'headworks.example.yaml': exampleYaml(),
  '.env.example': exampleEnv(),
};

const isCheck = process.argv.includes('--check');
for (const [path, text] of Object.entries(pages)) {
  if (isCheck) {
    if (readFileSync(path, 'utf8') === text) continue;
    console.error(`${path} is out of date: run "npm run docs".`);
    process.exitCode = 1;
  } else {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    console.log(path);
  }
}
