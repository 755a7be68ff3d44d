// Derives a command from an API operation: arguments, flags, choices, defaults and validation come from its schemas.
import { InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { pathWith } from '../api/client.ts';
import type { Operation, OutputOf } from '../api/operation.ts';
import type { HeadworksClient } from '../app/client/session.ts';
import { zodErrorMessage } from '../core/index.ts';
import type { CliCommand } from './command.ts';
import { confirm, forceOption } from './command.ts';
import type { ExitCode } from './exit-codes.ts';
import { exitCodes, UsageError } from './exit-codes.ts';
import type { CliSession } from './session.ts';
import { helpText } from './session.ts';

export interface FlagSpec {
  /** Default: the field's name in kebab case. */
  readonly flag?: string;
  readonly description?: string;
  /** Another default than the API's. */
  readonly default?: string | number | boolean;
  /** Not offered on the command line. */
  readonly isHidden?: boolean;
  /** Only `--no-FLAG` is offered, which sends false. */
  readonly isNegative?: boolean;
  /** Description of `--no-FLAG`, which sends false for a boolean and null for the rest. */
  readonly negation?: string;
  /** Other fields that cannot be given together with this one. */
  readonly conflicts?: readonly string[];
  /** Converts the text before it is checked as the API would. */
  readonly parse?: (text: string) => unknown;
}

/** Input of the operation, under the API's names. */
export interface CommandInput<Op extends Operation = Operation> {
  readonly params: Readonly<Record<string, string | number>>;
  readonly query: Partial<z.input<Op['query']>>;
  readonly body: Partial<NonNullable<z.input<Op['body']>>>;
}

/** Values of the command's own options, by attribute name. */
export type OwnOptions = Readonly<Record<string, unknown>>;

export interface CommandSpec<Op extends Operation, Subject = undefined, Result = OutputOf<Op>> {
  readonly name: string;
  readonly isDefault?: boolean;
  /** Default: the summary of the operation. */
  readonly description?: string;
  /** Positional arguments: path parameters, then fields of query or body named here, with label and description. */
  readonly arguments?: Readonly<Record<string, readonly [label: string, description: string]>>;
  readonly flags?: Readonly<Record<string, FlagSpec>>;
  /** Options of the command that are no fields of the operation; `prepare` reads them. */
  readonly options?: readonly Option[];
  readonly examples: readonly string[];
  /** Changes the input before a server is contacted, for example from a file. */
  readonly prepare?: (
    input: CommandInput<Op>,
    context: { readonly session: CliSession; readonly own: OwnOptions },
  ) => Partial<CommandInput<Op>> | Promise<Partial<CommandInput<Op>>>;
  /** Looks names up on the server: replaces parts of the input. `subject` is passed on to `confirm` and `print`. */
  readonly resolve?: (
    input: CommandInput<Op>,
    context: CallContext,
  ) => Promise<Partial<CommandInput<Op>> & { readonly subject?: Subject; readonly instead?: Operation }>;
  /** The confirmation question; adds --force. */
  readonly confirm?: (input: CommandInput<Op>, subject: Subject) => string;
  /** Completes the response, for example from further calls; default: it stays as it is. */
  readonly extend?: (response: OutputOf<Op>, context: ResultContext<Op, Subject>) => Result | Promise<Result>;
  /** Shows the result to a person; with --json it is written as it is. */
  readonly print: (
    session: CliSession,
    result: Result,
    context: ResultContext<Op, Subject>,
  ) => void | Promise<void>;
  readonly exitCode?: (result: Result) => ExitCode;
}

export interface CallContext {
  readonly session: CliSession;
  readonly client: HeadworksClient;
  readonly own: OwnOptions;
}

export interface ResultContext<Op extends Operation, Subject> extends CommandInput<Op>, CallContext {
  readonly subject: Subject;
}

/** Adds the command to the group. */
export function commandFor<Op extends Operation, Subject = undefined, Result = OutputOf<Op>>(
  group: CliCommand,
  op: Op,
  spec: CommandSpec<Op, Subject, Result>,
): CliCommand {
  const { name, isDefault = false, description = helpText(op.summary) } = spec;
  const command = group.command(name, { isDefault }).description(description);
  deriveCommand(command, op, spec);
  return command;
}

/** Makes an existing command call the operation. */
export function deriveCommand<Op extends Operation, Subject = undefined, Result = OutputOf<Op>>(
  command: CliCommand,
  op: Op,
  spec: Omit<CommandSpec<Op, Subject, Result>, 'name' | 'isDefault' | 'description'>,
): void {
  const params = [...op.path.matchAll(/:([A-Za-z_]+)/g)].map(([, param = '']) => param);
  const paramSchemas = op.params ? (defOf(op.params).shape ?? {}) : {};
  const fields = fieldsOf(op).filter((field) => spec.flags?.[field.name]?.isHidden !== true);
  const isArgument = ({ name }: Field) => spec.arguments?.[name] !== undefined && !params.includes(name);
  const positional = fields.filter(isArgument);
  for (const param of params) {
    const argument = spec.arguments?.[param];
    // An argument with another label is a name, which `resolve` looks up.
    if (argument) command.argument(`<${argument[0]}>`, argument[1]);
    else command.argument(`<${kebab(param)}>`, '', parserFor(paramSchemas[param] ?? z.string()));
  }
  for (const field of positional) {
    const [label, description] = spec.arguments?.[field.name] ?? [];
    const isList = typeOf(field.schema) === 'array';
    const words = `${label}${isList ? '...' : ''}`;
    const parse = parserFor(elementOf(field.schema));
    const append = (text: string, all: readonly unknown[] = []) => [...all, parse(text)];
    command.argument(field.isRequired ? `<${words}>` : `[${words}]`, description, isList ? append : parse);
  }
  const flags = fields
    .filter((field) => !isArgument(field))
    .map((field) => addFlag(command, field, fields, spec.flags));
  for (const option of spec.options ?? []) command.addOption(option);
  if (spec.confirm) command.addOption(forceOption());
  command.examples(spec.examples);

  command.run<Record<string, unknown>>(async (session, given) => {
    const { processedArgs } = command;
    const values = [
      ...positional.map((field, index) => ({
        field,
        value: processedArgs[params.length + index] as unknown,
      })),
      ...flags.map(({ field, attribute, read }) => ({ field, value: read(given[attribute]) })),
    ];
    const typed: CommandInput<Op> = {
      params: Object.fromEntries(params.map((param, index) => [param, String(processedArgs[index])])),
      query: inputOf(values, 'query') as CommandInput<Op>['query'],
      body: inputOf(values, 'body') as CommandInput<Op>['body'],
    };
    const isConfirmed = spec.confirm === undefined || given['force'] === true;
    if (!isConfirmed && session.out.isJson)
      throw new UsageError('With --json there is no confirmation: use --force.');
    const prepared = { ...typed, ...(await spec.prepare?.(typed, { session, own: given })) };
    return session.withClient(async (client) => {
      const { subject, instead, ...resolved } =
        (await spec.resolve?.(prepared, { session, client, own: given })) ?? {};
      const input: CommandInput<Op> = { ...prepared, ...resolved };
      if (!isConfirmed && !(await confirm(session, spec.confirm?.(input, subject as Subject) ?? ''))) {
        session.out.line(`Nothing was ${op.method === 'DELETE' ? 'deleted' : 'changed'}.`);
        return exitCodes.error;
      }
      const { method, path } = instead ?? op;
      const response = await client.call<OutputOf<Op>>(method, pathWith(path, input.params), {
        query: input.query as Record<string, string>,
        ...(Object.keys(input.body).length === 0 ? {} : { body: input.body }),
      });
      const about = { ...input, subject: subject as Subject, session, client, own: given };
      const result = spec.extend ? await spec.extend(response, about) : (response as unknown as Result);
      if (session.out.isJson) session.out.json(result ?? { deleted: Object.values(input.params).at(-1) });
      else await spec.print(session, result, about);
      return spec.exitCode?.(result) ?? exitCodes.ok;
    });
  });
}

interface Field {
  readonly place: 'query' | 'body';
  /** Names from the outside in, for a field of an object in the body. */
  readonly path: readonly string[];
  readonly name: string;
  readonly schema: z.ZodType;
  readonly isRequired: boolean;
}

/** Fields of query and body; one that is in both counts for the body. */
function fieldsOf({ method, query, body }: Operation): readonly Field[] {
  const inBody = method === 'GET' ? [] : fieldsIn(body, 'body');
  const inQuery = fieldsIn(query, 'query').filter(({ name }) => inBody.every((field) => field.name !== name));
  return [...inBody, ...inQuery];
}

function fieldsIn(schema: z.ZodType, place: Field['place'], above: readonly string[] = []): readonly Field[] {
  return Object.entries(defOf(unwrapped(schema)).shape ?? {}).flatMap(([name, field]) => {
    const path = [...above, name];
    if (defOf(unwrapped(field)).type === 'object') return fieldsIn(field, place, path);
    const isRequired = above.length === 0 && !field.safeParse(undefined).success;
    return [{ place, path, name, schema: field, isRequired }];
  });
}

/** The given values as nested objects. */
function inputOf(
  values: readonly { readonly field: Field; readonly value: unknown }[],
  place: Field['place'],
): Record<string, unknown> {
  const input: Record<string, unknown> = {};
  for (const { field, value } of values) {
    if (field.place !== place || value === undefined) continue;
    let at = input;
    for (const name of field.path.slice(0, -1)) at = (at[name] ??= {}) as Record<string, unknown>;
    at[field.name] = value;
  }
  return input;
}

interface Flag {
  readonly field: Field;
  readonly attribute: string;
  /** The value to send, from what commander read. */
  readonly read: (given: unknown) => unknown;
}

function addFlag(
  command: CliCommand,
  field: Field,
  fields: readonly Field[],
  specs: Readonly<Record<string, FlagSpec>> = {},
): Flag {
  const { schema } = field;
  const spec = specs[field.name] ?? {};
  const type = typeOf(schema);
  const name = spec.flag ?? kebab(field.name);
  const isSwitch = type === 'boolean';
  const value = type === 'number' ? 'number' : (field.name.split('_').at(-1) ?? '');
  const option = new Option(
    `--${spec.isNegative ? 'no-' : ''}${name}${isSwitch ? '' : ` <${value}>`}`,
    spec.description ?? descriptionText(descriptionOf(schema), fields),
  );
  const standard = spec.default ?? defaultOf(schema);
  if (spec.conflicts)
    option.conflicts(spec.conflicts.map((other) => attributeOf(specs[other]?.flag ?? kebab(other))));
  if (!isSwitch) {
    const choices = choicesOf(schema);
    option.argParser(parserFor(schema, spec, choices));
    if (choices.length > 0) option.argChoices = [...choices];
    if (field.isRequired) option.makeOptionMandatory();
    if (isShown(standard)) option.default(standard);
  }
  command.addOption(option);
  if (spec.negation !== undefined) command.addOption(new Option(`--no-${name}`, spec.negation));
  const read = (given: unknown): unknown => {
    if (given === false) return isSwitch ? false : null;
    if (!isSwitch) return given;
    // Commander has `true` for a "--no-…" that was not given.
    return given === true && spec.isNegative !== true ? true : booleanOf(standard);
  };
  return { field, attribute: option.attributeName(), read };
}

const attributeOf = (flag: string): string => new Option(`--${flag}`).attributeName();

/** Empty lists and objects are the API's own defaults, so the help omits them. */
const isShown = (standard: unknown): boolean =>
  standard !== undefined && standard !== null && typeof standard !== 'object';

const booleanOf = (standard: unknown): boolean | undefined =>
  standard === undefined ? undefined : standard === true || standard === 'true';

/** Checks one value as the API would, so that a typo fails before any server is called. */
export function parserFor(
  schema: z.ZodType,
  { parse }: FlagSpec = {},
  choices: readonly string[] = choicesOf(schema),
): (text: string) => unknown {
  const type = typeOf(schema);
  return (text) => {
    const isNumber = type === 'number' && /^-?\d+(\.\d+)?$/.test(text);
    const value = parse ? parse(text) : isNumber ? Number(text) : type === 'array' ? text.split(',') : text;
    const { error } = schema.safeParse(value, { error: zodErrorMessage });
    if (!error) return value;
    throw new InvalidArgumentError(
      choices.length > 0
        ? `Allowed choices are ${choices.join(', ')}.`
        : `It ${rangeOf(unwrapped(schema)) ?? error.issues[0]?.message ?? 'is invalid'}.`,
    );
  };
}

/** Both bounds of a number, also where only one of them is violated. */
function rangeOf(schema: z.ZodType): string | undefined {
  if (!(schema instanceof z.ZodNumber)) return undefined;
  const { minValue, maxValue, isInt } = schema;
  const isOpen = maxValue === null || maxValue >= Number.MAX_SAFE_INTEGER;
  return `must be a ${isInt ? 'whole ' : ''}number from ${minValue ?? 0} ${isOpen ? 'up' : `to ${maxValue}`}`;
}

/** The part of zod's internals that is read here. */
interface Def {
  readonly type: string;
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly innerType?: z.ZodType;
  readonly element?: z.ZodType;
  readonly in?: z.ZodType;
  readonly out?: z.ZodType;
  readonly defaultValue?: unknown;
  readonly entries?: Readonly<Record<string, string>>;
}

const defOf = (schema: z.ZodType): Def => schema.def;
const wrappers = new Set(['optional', 'nullable', 'default', 'prefault', 'readonly', 'nonoptional']);

/** The schema without wrappers (optional, default, …); for a conversion, the schema of its input. */
function unwrapped(schema: z.ZodType): z.ZodType {
  const { type, innerType, in: input } = defOf(schema);
  if (wrappers.has(type) && innerType) return unwrapped(innerType);
  return type === 'pipe' && input ? unwrapped(input) : schema;
}

/** The schema without wrappers; for a conversion, the schema of its result. */
function resultOf(schema: z.ZodType): z.ZodType {
  const { type, innerType, out } = defOf(schema);
  const inner = wrappers.has(type) ? innerType : type === 'pipe' ? out : undefined;
  return inner ? resultOf(inner) : schema;
}

const elementOf = (schema: z.ZodType): z.ZodType => defOf(unwrapped(schema)).element ?? schema;

/** A text that becomes a boolean is a boolean; so is the choice of true and false. */
function typeOf(schema: z.ZodType): string {
  const { type, entries } = defOf(unwrapped(schema));
  const isBoolean = entries?.['true'] === 'true' || defOf(resultOf(schema)).type === 'boolean';
  return isBoolean ? 'boolean' : type;
}

/** The choices of an enumeration, or of a list of them. */
function choicesOf(schema: z.ZodType): readonly string[] {
  const result = resultOf(schema);
  const { entries } = defOf(defOf(result).element ?? result);
  return Object.values(entries ?? {});
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

const kebab = (name: string): string => name.replaceAll('_', '-');

/** A description of the API for --help: `field` of the same operation becomes --field. */
const descriptionText = (text = '', fields: readonly Field[]): string =>
  helpText(text).replaceAll(/`([^`]+)`/g, (_, word: string) =>
    fields.some(({ name }) => name === word) ? `--${kebab(word)}` : word,
  );
