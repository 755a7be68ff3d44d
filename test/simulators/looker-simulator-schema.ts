// A small validator of responses against an OpenAPI document: types, required fields, nullability, times, unknown fields.

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly nullable?: boolean;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
}

type Json = Readonly<Record<string, unknown>>;

/** Violations of the document in the 200 response of `GET /path`, including unknown fields. */
export function schemaProblems(document: object, endpoint: string, body: unknown): readonly string[] {
  const [method = '', path = ''] = endpoint.split(' ');
  const keys = [
    'paths',
    path,
    method.toLowerCase(),
    'responses',
    '200',
    'content',
    'application/json',
    'schema',
  ];
  const schema = keys.reduce<unknown>((value, key) => (value as Json | undefined)?.[key], document);
  if (schema === undefined) return [`The document has no ${endpoint}.`];
  // This one is declared as one object, and described as an array of them with the fields of a dashboard besides.
  if (path === '/dashboards/lookml/search') return checkLookmlDashboards(document, schema as Schema, body);
  return problemsOf(document, schema as Schema, body, 'body');
}

function checkLookmlDashboards(document: object, schema: Schema, body: unknown): readonly string[] {
  if (!Array.isArray(body)) return ['body: not an array'];
  const dashboard: Schema = { $ref: '#/components/schemas/Dashboard' };
  const own = Object.keys(resolve(document, schema).properties ?? {});
  return (body as Json[]).flatMap((item, index) => {
    const split = (isOwn: boolean) =>
      Object.fromEntries(Object.entries(item).filter(([name]) => own.includes(name) === isOwn));
    return [
      ...problemsOf(document, schema, split(true), `body.${index}`),
      ...problemsOf(document, dashboard, split(false), `body.${index}`),
    ];
  });
}

function resolve(document: object, schema: Schema): Schema {
  if (schema.$ref === undefined) return schema;
  const keys = schema.$ref.slice('#/'.length).split('/');
  return keys.reduce<unknown>((value, key) => (value as Json)[key], document) as Schema;
}

function problemsOf(document: object, given: Schema, value: unknown, at: string): readonly string[] {
  const schema = resolve(document, given);
  if (value === null) return schema.nullable === true ? [] : [`${at}: null`];
  if (schema.type === 'array') {
    if (!Array.isArray(value)) return [`${at}: not an array`];
    return value.flatMap((item: unknown, index) =>
      problemsOf(document, schema.items ?? {}, item, `${at}.${index}`),
    );
  }
  if (schema.type === 'object' || schema.properties) return objectProblems(document, schema, value, at);
  return scalarProblems(schema, value, at);
}

function objectProblems(document: object, schema: Schema, value: unknown, at: string): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${at}: not an object`];
  const { properties = {}, additionalProperties, required = [] } = schema;
  const missing = required.filter((name) => !(name in value)).map((name) => `${at}.${name}: missing`);
  const wrong = Object.entries(value).flatMap(([name, inner]) => {
    const own = properties[name] ?? (additionalProperties === true ? {} : additionalProperties || undefined);
    if (own !== undefined) return problemsOf(document, own, inner, `${at}.${name}`);
    return Object.keys(properties).length === 0 ? [] : [`${at}.${name}: unknown`];
  });
  return [...missing, ...wrong];
}

function scalarProblems({ type, format }: Schema, value: unknown, at: string): readonly string[] {
  const actual = Number.isInteger(value) ? 'integer' : typeof value;
  // "any" is no type of OpenAPI, but Looker's document has it.
  const isRight =
    type === undefined || type === 'any' || type === actual || (type === 'number' && actual === 'integer');
  if (!isRight) return [`${at}: ${actual}, not ${type}`];
  return format === 'date-time' && Number.isNaN(Date.parse(String(value))) ? [`${at}: not a time`] : [];
}
