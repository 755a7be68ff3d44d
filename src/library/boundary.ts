// What every public function does: it checks its input, and its errors name options of the library.
import { z } from 'zod';
import { dataOptions, redisOptions, stateOptions } from '../app/options.ts';
import { CoreError, HeadworksError, messageOf, unknownOption, zodErrorMessage } from '../core/index.ts';
import { keepProcessAlive } from '../core/system.ts';
import type { OptionFields, OptionSection, OptionSpec } from '../core/index.ts';

/* ---- schemas ---- */

/** An object with these options and no others: a limit that is misspelled would silently not apply. */
export const object = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? unknownOption(String((issue.keys as readonly string[])[0]), Object.keys(shape))
        : `must be an object with ${Object.keys(shape).join(', ')}`,
  });

/** A setting that a domain declares, with its own rule. Only flags and variables are texts: a number is a number here. */
export const setting = <T>({ default: example, allowed, parse }: OptionSpec<T | null>) =>
  z
    .unknown()
    .transform((given, context): T => {
      const parsed =
        typeof given === typeof (example ?? '') ? parse(given) : { problem: `must be ${allowed}` };
      if ('value' in parsed && parsed.value !== null) return parsed.value;
      const message = 'problem' in parsed ? parsed.problem : `must be ${allowed}`;
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    })
    .optional();

const rule = <T>(message: string, isValid: (given: unknown) => boolean) => z.custom<T>(isValid, message);

export const text = rule<string>(
  'must be text that is not empty',
  (given) => typeof given === 'string' && given !== '',
);

export const whole = (min: number, max = Number.MAX_SAFE_INTEGER) =>
  rule<number>(
    `must be a whole number from ${min}${upTo(max)}`,
    (given) => Number.isInteger(given) && Number(given) >= min && Number(given) <= max,
  );

export const amount = (min: number, max = Number.MAX_SAFE_INTEGER) =>
  rule<number>(
    `must be a number from ${min}${upTo(max)}`,
    (given) => typeof given === 'number' && given >= min && given <= max,
  );

const upTo = (max: number): string => (max === Number.MAX_SAFE_INTEGER ? '' : ` to ${max}`);

export const callback = <T>() => rule<T>('must be a function', (given) => typeof given === 'function');

/** Recognized by its members: it may come from another realm. */
export const signal = rule<AbortSignal>('must be an AbortSignal', (given) => {
  const { aborted, addEventListener } = (given ?? {}) as Partial<AbortSignal>;
  return typeof aborted === 'boolean' && typeof addEventListener === 'function';
});

/** Checked and not copied: the environment of a process is not a plain object. */
export const variables = rule<Readonly<Record<string, string | undefined>>>(
  'must be an object whose values are texts',
  (given) =>
    typeof given === 'object' &&
    given !== null &&
    !Array.isArray(given) &&
    Object.values(given).every((value) => value === undefined || typeof value === 'string'),
);

export const storeShape = {
  dataFolder: setting(dataOptions.fields.folder),
  databaseUrl: setting(stateOptions.fields.databaseUrl),
};

/**
 * The input of a function, checked. Parameters that stand in a row are given as an object by their names; problems of the
 * one named `options` are reported without that name. Fails with INPUT_INVALID and every problem.
 */
export function checkInput<T>(callee: string, schema: z.ZodType<T>, given: unknown): T {
  const input = given === undefined ? {} : given;
  const parsed = schema.safeParse(input, { error: zodErrorMessage });
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ code, path, message }) => {
    const [first, ...rest] = path;
    const name = nameOf(
      first === 'options' && (rest.length > 0 || code === 'unrecognized_keys') ? rest : path,
    );
    const isMissing = path.length > 0 && path.reduce(valueAt, input) === undefined;
    const subject = name !== '' ? name : code === 'unrecognized_keys' ? callee : `The argument of ${callee}`;
    return `${subject} ${isMissing ? 'is missing' : message}.`;
  });
  throw new CoreError('INPUT_INVALID', problems.join(' '), { details: { function: callee, problems } });
}

const valueAt = (object: unknown, key: PropertyKey): unknown =>
  (object as Readonly<Record<PropertyKey, unknown>> | null | undefined)?.[key];

/** `models[0].name` */
const nameOf = (path: readonly PropertyKey[]): string =>
  path
    .map((key, index) => (typeof key === 'number' ? `[${key}]` : `${index === 0 ? '' : '.'}${String(key)}`))
    .join('');

/* ---- errors ---- */

/** How errors of the domains become errors of the library. */
export interface ErrorNames {
  /** What messages call the setting behind each option. */
  readonly settings: Readonly<Record<string, RegExp>>;
  /** The message of an error that does more than name a setting. Undefined: its own. */
  readonly explain?: (error: HeadworksError) => string | undefined;
}

/** `REDIS_URL`, `--port or HEADWORKS_PORT`, `extraction.types (--types, HEADWORKS_EXTRACTION_TYPES)`. */
export function settingNames<Fields extends OptionFields>(
  { section, fields }: OptionSection<Fields>,
  field: keyof Fields & string,
): RegExp {
  const { flag, env } = fields[field] as OptionSpec<unknown>;
  const flagsAndVariables = [...(flag === undefined ? [] : [`--${flag}`]), ...env];
  const name = `(?:${[...flagsAndVariables, `${section}.${field}`].map((each) => RegExp.escape(each)).join('|')})(?![\\w-])`;
  return new RegExp(`(?<![\\w-])${name}(?: \\(${name}(?:, ${name})*\\)| or ${name})?`, 'g');
}

export const storeSettings = {
  dataFolder: settingNames(dataOptions, 'folder'),
  databaseUrl: settingNames(stateOptions, 'databaseUrl'),
};

export const redisSettings = { redisUrl: settingNames(redisOptions, 'url') };

/**
 * Runs a call of a domain. Whatever it fails with is a HeadworksError that names options of the library. The process of
 * a script that only awaits the call must not end before it.
 */
export async function run<T>(
  names: ErrorNames,
  work: () => T | Promise<T>,
  stopped?: AbortSignal,
): Promise<T> {
  const canceled = () =>
    new CoreError('CANCELED', 'The signal was aborted.', { cause: stopped?.reason as unknown });
  if (stopped?.aborted) throw canceled();
  const release = keepProcessAlive();
  try {
    return await work();
  } catch (error) {
    throw stopped?.aborted ? canceled() : libraryError(error, names);
  } finally {
    release();
  }
}

export function libraryError(error: unknown, { settings, explain }: ErrorNames): HeadworksError {
  if (!(error instanceof HeadworksError))
    return new CoreError('INTERNAL', `Unexpected error: ${messageOf(error)}`, { cause: error });
  const message = Object.entries(settings).reduce(
    (named, [name, pattern]) => named.replace(pattern, name),
    explain?.(error) ?? error.message,
  );
  // Settings of a server are options of the library.
  if (error.code === 'CONFIG_INVALID')
    return new CoreError('INPUT_INVALID', message, { details: error.details, cause: error.cause });
  // The stack repeats the message, and is what Node prints.
  error.stack = error.stack?.replace(error.message, () => message);
  error.message = message;
  return error;
}

/** The calls of an object that has to be closed: after `close` they fail with CLOSED. */
export class OpenCalls {
  readonly #closing: AsyncDisposableStack;
  readonly #names: ErrorNames;
  /** `gateway`, made by `createGateway`. */
  readonly #what: string;
  #closed: Promise<void> | undefined;

  constructor(what: string, closing: AsyncDisposableStack, names: ErrorNames) {
    this.#what = what;
    this.#closing = closing;
    this.#names = names;
  }

  async run<T>(work: () => Promise<T>, stopped?: AbortSignal): Promise<T> {
    if (this.#closed) throw closedError(this.#what);
    try {
      return await run(this.#names, work, stopped);
    } catch (error) {
      throw this.#closed ? closedError(this.#what, error) : error;
    }
  }

  close(): Promise<void> {
    this.#closed ??= run(this.#names, () => this.#closing.disposeAsync());
    return this.#closed;
  }
}

export function closedError(what: string, cause?: unknown): CoreError {
  return new CoreError(
    'CLOSED',
    `This ${what} is closed. Use another one.`,
    cause === undefined ? {} : { cause },
  );
}
