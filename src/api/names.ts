// JSON is snake_case, domain objects are camelCase: names are mapped by the schema, so that keys of user data are not changed.
import type { z } from 'zod';
import { toCamelCase } from '../core/text.ts';

type CamelName<Name> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelName<Tail> & string>}`
  : Name;

/** Parsed input as handlers receive it. */
export type Camel<T> = T extends Date | Uint8Array
  ? T
  : T extends readonly (infer Item)[]
    ? Camel<Item>[]
    : T extends object
      ? { [Name in keyof T as CamelName<Name>]: Camel<T[Name]> }
      : T;

/** What a handler may return for a response of this type: camelCase names, Dates for ISO texts, readonly lists. */
export type DomainValue<T> = unknown extends T
  ? unknown
  : T extends string
    ? string extends T
      ? string | Date
      : T
    : T extends readonly (infer Item)[]
      ? readonly DomainValue<Item>[]
      : T extends object
        ? { readonly [Name in keyof T as CamelName<Name>]: DomainValue<T[Name]> }
        : T;

type Convert = (value: unknown) => unknown;
type Direction = 'toWire' | 'fromWire';

const converters = { toWire: new WeakMap<object, Convert>(), fromWire: new WeakMap<object, Convert>() };

/** The domain value in wire names, Dates as ISO texts. Values that the schema does not describe stay as they are. */
export const toWire = (schema: z.ZodType, value: unknown): unknown => converterOf(schema, 'toWire')(value);

/** Parsed input in domain names. */
export const fromWire = (schema: z.ZodType, value: unknown): unknown =>
  converterOf(schema, 'fromWire')(value);

/** The part of zod's internals that is read here. */
interface Node {
  readonly _zod: {
    readonly def: {
      readonly type: string;
      readonly shape?: Readonly<Record<string, Node>>;
      readonly catchall?: Node;
      readonly element?: Node;
      readonly valueType?: Node;
      readonly innerType?: Node;
      readonly out?: Node;
      readonly options?: readonly Node[];
      readonly getter?: () => Node;
    };
  };
}

function converterOf(node: Node, direction: Direction): Convert {
  const known = converters[direction].get(node);
  if (known) return known;
  // A recursive schema contains itself, so its converter is looked up before it is complete.
  let built: Convert = (value) => value;
  converters[direction].set(node, (value) => built(value));
  built = build(node, direction);
  converters[direction].set(node, built);
  return built;
}

function build(node: Node, direction: Direction): Convert {
  const { def } = node._zod;
  switch (def.type) {
    case 'object':
      return objectConverter(
        def.shape ?? {},
        def.catchall?._zod.def.type !== 'never' && def.catchall !== undefined,
        direction,
      );
    case 'array': {
      const item = converterOf(def.element as Node, direction);
      return (value) => (Array.isArray(value) ? value.map(item) : value);
    }
    case 'record': {
      const item = converterOf(def.valueType as Node, direction);
      return (value) => (isObject(value) ? mapValues(value, item) : value);
    }
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'catch':
    case 'readonly':
    case 'nonoptional': {
      const inner = converterOf(def.innerType as Node, direction);
      return (value) => (value === null || value === undefined ? value : inner(value));
    }
    case 'pipe':
      return pipeConverter(def.out as Node, direction);
    case 'lazy':
      return (value) => converterOf((def.getter as () => Node)(), direction)(value);
    case 'union':
      return unionConverter(def.options ?? [], direction);
    default:
      return direction === 'toWire' ? isoText : (value) => value;
  }
}

const isoText: Convert = (value) => (value instanceof Date ? value.toISOString() : value);

function objectConverter(
  shape: Readonly<Record<string, Node>>,
  isLoose: boolean,
  direction: Direction,
): Convert {
  const fields = Object.entries(shape).map(([wire, field]) => {
    const domain = toCamelCase(wire);
    const convert = converterOf(field, direction);
    return direction === 'toWire' ? { from: domain, to: wire, convert } : { from: wire, to: domain, convert };
  });
  const known = new Set(fields.map(({ from }) => from));
  return (value) => {
    if (!isObject(value) || Array.isArray(value)) return value;
    const converted: Record<string, unknown> = {};
    for (const { from, to, convert } of fields) if (from in value) converted[to] = convert(value[from]);
    if (isLoose)
      for (const [name, item] of Object.entries(value)) if (!known.has(name)) converted[name] = item;
    return converted;
  };
}

/** The result of a transform has no schema and is kept unchanged. */
function pipeConverter(output: Node, direction: Direction): Convert {
  if (output._zod.def.type !== 'transform') return converterOf(output, direction);
  return direction === 'toWire' ? isoText : (value) => value;
}

/** The first option that accepts the result. */
function unionConverter(options: readonly Node[], direction: Direction): Convert {
  const candidates = options.map((option) => ({
    convert: converterOf(option, direction),
    accepts: (value: unknown) => (option as unknown as z.ZodType).safeParse(value).success,
  }));
  return (value) => {
    if (!isObject(value)) return direction === 'toWire' ? isoText(value) : value;
    for (const { convert, accepts } of candidates) {
      const converted = convert(value);
      if (accepts(direction === 'toWire' ? converted : value)) return converted;
    }
    return value;
  };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !(value instanceof Date) && !(value instanceof Uint8Array);

const mapValues = (value: object, convert: Convert): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).map(([name, item]) => [name, convert(item)]));
