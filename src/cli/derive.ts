// Makes a command of an API operation: arguments, flags, choices, defaults and validation come from its schemas.
import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import type { z } from 'zod';
import { pathWith } from '../api/client.ts';
import type { Operation, OutputOf } from '../api/operation.ts';
import { zodErrorMessage } from '../core/index.ts';
import type { CommandHost } from './command-host.ts';
import { act, examples } from './command-host.ts';
import type { ExitCode } from './exit-codes.ts';
import { exitCodes } from './exit-codes.ts';
import type { CliSession } from './session.ts';

export interface FlagSpec {
  /** Default: the field's name in kebab case. */
  readonly flag?: string;
  readonly description?: string;
  /** Another default than the API's. */
  readonly default?: string | number | boolean;
  /** Not offered on the command line. */
  readonly isHidden?: boolean;
}

export interface CommandSpec<Op extends Operation> {
  readonly name: string;
  readonly isDefault?: boolean;
  /** Default: the summary of the operation. */
  readonly description?: string;
  /** What the positional arguments mean; they are the path parameters. */
  readonly arguments?: Readonly<Record<string, string>>;
  readonly flags?: Readonly<Record<string, FlagSpec>>;
  readonly examples: readonly string[];
  /** Shows the response to a person; with --json it is written as it came. */
  readonly print: (session: CliSession, response: OutputOf<Op>, input: CommandInput) => void;
  readonly exitCode?: (response: OutputOf<Op>) => ExitCode;
}

export interface CommandInput {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Adds the command to the group. */
export function commandFor<Op extends Operation>(
  group: Command,
  host: CommandHost,
  op: Op,
  spec: CommandSpec<Op>,
): Command {
  const command = group
    .command(spec.name, { isDefault: spec.isDefault ?? false })
    .description(spec.description ?? op.summary);
  const names = [...op.path.matchAll(/:([A-Za-z_]+)/g)].map(([, name = '']) => name);
  for (const name of names) command.argument(`<${kebab(name)}>`, spec.arguments?.[name]);
  const fields = [
    ...fieldsOf(op.query).map((field) => ({ ...field, place: 'query' as const })),
    ...(op.method === 'GET' ? [] : fieldsOf(op.body)).map((field) => ({ ...field, place: 'body' as const })),
  ].filter(({ name }) => spec.flags?.[name]?.isHidden !== true);
  const options = fields.map((field) => {
    const option = optionFor(field, spec.flags?.[field.name] ?? {});
    command.addOption(option);
    return { field, attribute: option.attributeName() };
  });
  examples(command, spec.examples);
  act<Record<string, unknown>>(host, command, async (session, given, args) => {
    const valuesIn = (place: 'query' | 'body') =>
      Object.fromEntries(
        options
          .filter(({ field, attribute }) => field.place === place && given[attribute] !== undefined)
          .map(({ field, attribute }) => [field.name, given[attribute]]),
      );
    const params = Object.fromEntries(names.map((name, index) => [name, args[index] ?? '']));
    const input: CommandInput = { params, query: valuesIn('query'), body: valuesIn('body') };
    const response = await session.withClient((client) =>
      client.call<OutputOf<Op>>(op.method, pathWith(op.path, params), {
        query: input.query as Record<string, string>,
        ...(op.method === 'GET' || Object.keys(input.body).length === 0 ? {} : { body: input.body }),
        signal: session.io.signal,
      }),
    );
    if (session.out.isJson) session.out.json(response);
    else spec.print(session, response, input);
    return spec.exitCode?.(response) ?? exitCodes.ok;
  });
  return command;
}

interface Field {
  readonly name: string;
  readonly schema: z.ZodType;
  readonly isRequired: boolean;
}

/** The part of zod's internals that is read here. */
interface Def {
  readonly type: string;
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly innerType?: z.ZodType;
  readonly in?: z.ZodType;
  readonly out?: z.ZodType;
  readonly defaultValue?: unknown;
  readonly entries?: Readonly<Record<string, string>>;
}

const defOf = (schema: z.ZodType): Def => schema.def;
const wrappers = new Set(['optional', 'nullable', 'default', 'prefault', 'readonly', 'nonoptional']);

const fieldsOf = (schema: z.ZodType): readonly Field[] =>
  Object.entries(defOf(unwrapped(schema)).shape ?? {}).map(([name, field]) => ({
    name,
    schema: field,
    isRequired: !field.safeParse(undefined).success,
  }));

function unwrapped(schema: z.ZodType): z.ZodType {
  const { type, innerType, in: input } = defOf(schema);
  if (wrappers.has(type) && innerType) return unwrapped(innerType);
  return type === 'pipe' && input ? unwrapped(input) : schema;
}

function defaultOf(schema: z.ZodType): unknown {
  const { type, innerType, in: input, defaultValue } = defOf(schema);
  if (type === 'default' || type === 'prefault') return defaultValue;
  const inner = type === 'pipe' ? input : wrappers.has(type) ? innerType : undefined;
  return inner && defaultOf(inner);
}

function descriptionOf(schema: z.ZodType): string | undefined {
  const { innerType, in: input } = defOf(schema);
  const inner = innerType ?? input;
  return schema.description ?? (inner && descriptionOf(inner));
}

function optionFor({ name, schema, isRequired }: Field, spec: FlagSpec): Option {
  const inner = unwrapped(schema);
  const { type, entries } = defOf(inner);
  const choices = Object.values(entries ?? {});
  const isFlag = type === 'boolean' || choices.includes('True');
  const flag = `--${spec.flag ?? kebab(name)}`;
  const words = isFlag ? flag : `${flag} <${type === 'number' ? 'count' : placeholder(name)}>`;
  const option = new Option(words, spec.description ?? sentenceStart(descriptionOf(schema)));
  const standard = spec.default ?? defaultOf(schema);
  if (isFlag) return spec.default === undefined ? option : option.default(spec.default);
  if (isRequired) option.makeOptionMandatory();
  if (standard !== undefined) option.default(standard);
  return choices.length > 0 ? option.choices(choices) : option.argParser(parserFor(schema, type));
}

/** Checks one value as the API would, so that a typo fails before any server is called. */
function parserFor(schema: z.ZodType, type: string): (text: string) => unknown {
  return (text) => {
    const value: unknown = type === 'number' ? Number(text) : type === 'array' ? text.split(',') : text;
    const { error } = schema.safeParse(text === '' ? text : value, { error: zodErrorMessage });
    if (error) throw new InvalidArgumentError(`It ${error.issues[0]?.message ?? 'is invalid'}.`);
    return value;
  };
}

const kebab = (name: string): string => name.replaceAll('_', '-');
const placeholder = (name: string): string => name.split('_').at(-1) ?? name;
const sentenceStart = (text = ''): string =>
  text.replace(/\.$/, '').replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase());
