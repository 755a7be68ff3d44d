// Resolves every option once: flag > environment > headworks.yaml > default. All problems are reported together.
import { dirname, resolve } from 'node:path';
import { CoreError } from '../core/errors.ts';
import { Redactor } from '../core/redaction.ts';
import type { Config, ConfigOf, NamedOption, OptionOrigin, OptionSections } from './config.ts';
import { configFileVariable, describeOrigin, listOptions, optionSections } from './config.ts';
import { flagName } from '../core/options.ts';
import type { ConfigFile } from './config-file.ts';
import { noConfigFile, readConfigFile } from './config-file.ts';
import { nearest } from '../core/text.ts';

const ourPrefix = 'HEADWORKS_';

export interface ConfigInput {
  /** Flags as given, by name without dashes (`data-dir`). */
  readonly flags?: Readonly<Record<string, string | undefined>>;
  readonly env?: Environment;
  /** The file given with --config; null: no file is read. */
  readonly file?: string | null | undefined;
  /** The folder of headworks.yaml, and the base of relative paths. */
  readonly cwd: string;
  /** Values by option path that a command sets, before every other source; not parsed. */
  readonly overrides?: { readonly command: string; readonly values: Readonly<Record<string, unknown>> };
  /** Uses the default of an option that is not valid instead of failing: to inspect a machine with wrong settings. */
  readonly isLenient?: boolean;
}

/** The configuration of this process. Fails with CONFIG_INVALID, its message naming every problem, one per line. */
export function resolveConfig(input: ConfigInput): Config {
  return resolveSections(optionSections, input);
}

/** The same for any sections. */
export function resolveSections<Sections extends OptionSections>(
  sections: Sections,
  input: ConfigInput,
): ConfigOf<Sections> {
  const options = listOptions(sections);
  const file =
    input.file === null ? noConfigFile : readConfigFile({ given: givenFile(input), cwd: input.cwd }, options);
  const problems = [...file.problems];
  const values: Record<string, Record<string, unknown>> = {};
  const origins: Record<string, OptionOrigin> = {};
  for (const option of options) {
    const { origin, raw } = candidate(option, input, file);
    origins[option.path] = origin;
    const parsed =
      origin.kind === 'command' || origin.kind === 'default' ? { value: raw } : option.spec.parse(raw);
    if ('problem' in parsed)
      problems.push(problemLine(option, origin, raw, parsed.problem) + exampleOf(option));
    if ('problem' in parsed && !input.isLenient) continue;
    const value = 'problem' in parsed ? option.spec.default : parsed.value;
    const isFromFile = origin.kind === 'file' && !('problem' in parsed);
    const base = isFromFile && file.path !== null ? dirname(file.path) : input.cwd;
    const isPath = option.spec.isPath && typeof value === 'string';
    (values[option.section] ??= {})[option.field] = isPath ? resolve(base, value) : value;
  }
  for (const option of crossProblems(sections, values))
    problems.push(
      problemLine(option, origins[option.path] ?? { kind: 'default' }, option.value, option.problem),
    );
  const unknown = unknownVariables(options, input.env ?? {});
  // Alone it is a warning; with problems it may be the cause of one.
  if (problems.length > 0 && !input.isLenient) throw invalid([...problems, ...unknown]);
  const warnings = [...file.warnings, ...unknown, ...optionWarnings(options, origins)];
  return deepFreeze({ ...values, resolution: { file: file.path, origins, warnings } }) as ConfigOf<Sections>;
}

function givenFile(input: ConfigInput): { path: string; by: string } | null {
  if (input.file) return { path: input.file, by: 'given with --config' };
  const path = input.env?.[configFileVariable];
  return path ? { path, by: `given as ${configFileVariable}` } : null;
}

/** The first source that sets this option. */
function candidate(
  option: NamedOption,
  input: ConfigInput,
  file: ConfigFile,
): { origin: OptionOrigin; raw: unknown } {
  const { path, spec } = option;
  if (input.overrides && Object.hasOwn(input.overrides.values, path))
    return {
      origin: { kind: 'command', command: input.overrides.command },
      raw: input.overrides.values[path],
    };
  const flagValue = spec.flag === undefined ? undefined : input.flags?.[spec.flag];
  if (spec.flag !== undefined && flagValue !== undefined)
    return { origin: { kind: 'flag', flag: flagName(spec) ?? spec.flag }, raw: flagValue };
  const name = spec.env.find((variable) => input.env?.[variable]);
  if (name !== undefined) return { origin: { kind: 'env', name }, raw: input.env?.[name] };
  const written = file.values.get(path);
  if (written) return { origin: { kind: 'file', file: file.name, line: written.line }, raw: written.raw };
  return { origin: { kind: 'default' }, raw: spec.default };
}

/** An invalid value is absent here: rules between options do not apply to it. */
function crossProblems(
  sections: OptionSections,
  values: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
) {
  return Object.entries(sections).flatMap(([section, { check, fields }]) =>
    !check
      ? []
      : check(values[section] ?? {}).map(({ field, problem }) => ({
          section,
          field,
          path: `${section}.${field}`,
          spec: (fields as Record<string, NamedOption['spec']>)[field],
          value: values[section]?.[field],
          problem,
        })),
  ) as (NamedOption & { value: unknown; problem: string })[];
}

/** `server.port (--port, HEADWORKS_PORT): "abc" from env HEADWORKS_PORT must be a whole number from 0 to 65535.` */
function problemLine(option: NamedOption, origin: OptionOrigin, raw: unknown, problem: string): string {
  const flag = flagName(option.spec);
  const names = [...(flag === undefined ? [] : [`--${flag}`]), ...option.spec.env];
  const value = option.spec.secret
    ? 'the value (not shown)'
    : shortened(new Redactor().text(JSON.stringify(raw) ?? 'nothing'));
  return `${option.path} (${names.join(', ')}): ${value} from ${describeOrigin(origin)} ${problem}.`;
}

const exampleOf = ({ spec }: NamedOption): string =>
  typeof spec.default === 'number' ? ` Default: ${spec.default}.` : '';

/** A long list of models would hide what is wrong with one of them. */
const maxShownLength = 80;
const shortened = (text: string): string =>
  text.length > maxShownLength ? `${text.slice(0, maxShownLength)}…` : text;

function invalid(problems: readonly string[]): CoreError {
  const [only] = problems;
  const message =
    problems.length === 1
      ? `The configuration is not valid: ${only}`
      : `The configuration has ${problems.length} problems:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`;
  return new CoreError('CONFIG_INVALID', message, { details: { problems } });
}

function unknownVariables(options: readonly NamedOption[], env: Environment): readonly string[] {
  const known = new Set([configFileVariable, ...options.flatMap((option) => option.spec.env)]);
  const tails = [...known]
    .filter((name) => name.startsWith(ourPrefix))
    .map((name) => name.slice(ourPrefix.length));
  return Object.keys(env)
    .filter((name) => name.startsWith(ourPrefix) && !known.has(name) && env[name])
    .map((name) => {
      // Compared without the prefix, which makes all names similar.
      const meant = nearest(name.slice(ourPrefix.length), tails);
      const advice = meant === undefined ? 'unset it.' : `did you mean ${ourPrefix}${meant}?`;
      return `The environment variable ${name} has no effect; ${advice}`;
    });
}

/** Secrets in the file, and options that are set and have no effect. */
function optionWarnings(
  options: readonly NamedOption[],
  origins: Readonly<Record<string, OptionOrigin>>,
): readonly string[] {
  return options.flatMap(({ path, spec }) => {
    const origin = origins[path];
    if (!origin || origin.kind === 'default') return [];
    const where = describeOrigin(origin);
    const isSecretInFile = spec.secret && origin.kind === 'file';
    return [
      ...(isSecretInFile ? [`${path} is a secret in ${where}; set ${spec.env[0]} instead.`] : []),
      ...(spec.notice === undefined ? [] : [`${path} (${where}): ${spec.notice}`]),
    ];
  });
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Environment and working directory of this process. */
export function processEnvironment(): Required<Pick<ConfigInput, 'env' | 'cwd'>> {
  return { env: process.env, cwd: process.cwd() };
}
