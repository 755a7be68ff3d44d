// Resolves the source that a command or a schedule names into a description.
import { readFile } from 'node:fs/promises';
import type { OptionValues } from '../../core/index.ts';
import { CoreError, HeadworksError, kindOf, messageOf } from '../../core/index.ts';
import { ExtractionError } from '../errors.ts';
import type { extractionOptions, lookerOptions } from '../options.ts';
import { selectTypes } from '../pipeline/run-session.ts';
import { loadDescription } from './description/load.ts';
import type { SourceDescription } from './description/schema.ts';
import { hasFolders, lookerDescription, lookerTypes, parseLookerUrl } from './looker/description.ts';

export type ExtractionOptionValues = OptionValues<typeof extractionOptions.fields>;
export type LookerOptionValues = OptionValues<typeof lookerOptions.fields>;

/** `file` is absolute, or relative to the working directory; with `text` it is only its name in messages. */
export type SourceChoice =
  | { readonly kind: 'looker' }
  | { readonly kind: 'rest'; readonly file: string; readonly text?: string };

export interface SourceSettingsDeps {
  readonly extraction: ExtractionOptionValues;
  readonly looker: LookerOptionValues;
  /** For `${NAME}` in source files. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Called for settings without effect. */
  readonly onIgnored: (setting: string, reason: string) => void;
}

/** Fails with CONFIG_INVALID or EXTRACTION_SOURCE_INVALID, before any call. */
export async function resolveSource(
  choice: SourceChoice,
  deps: SourceSettingsDeps,
): Promise<SourceDescription> {
  return choice.kind === 'looker' ? resolveLooker(deps) : resolveFile(choice, deps);
}

async function resolveLooker(deps: SourceSettingsDeps): Promise<SourceDescription> {
  const { looker, extraction } = deps;
  const { baseUrl, clientId, clientSecret } = looker;
  await collectErrors([
    () => baseUrl === null || parseLookerUrl(baseUrl),
    () => requireCredentials(looker),
    () =>
      selectTypes(
        lookerTypes.map(({ type }) => type),
        extraction.types,
      ),
    () => requireFolderTypes(extraction),
  ]);
  reportIgnored(deps);
  // Checked above.
  if (baseUrl === null || clientId === null || clientSecret === null) throw new TypeError('no credentials');
  const folders = { ids: extraction.folders, recursive: extraction.recursive };
  return lookerDescription({ baseUrl, clientId, clientSecret, folders });
}

async function resolveFile(
  { file, text }: Extract<SourceChoice, { kind: 'rest' }>,
  { extraction, env }: SourceSettingsDeps,
): Promise<SourceDescription> {
  let description: SourceDescription | undefined;
  await collectErrors([
    () => requireNoFolders(extraction),
    async () => {
      description = loadDescription(text ?? (await readSourceText(file)), { env, file });
    },
    () =>
      description &&
      selectTypes(
        description.types.map(({ type }) => type),
        extraction.types,
      ),
  ]);
  if (!description) throw new TypeError('no description');
  return description;
}

/** Runs every check. Fails as the one that failed, or with CONFIG_INVALID and one line per problem. */
async function collectErrors(checks: readonly (() => unknown)[]): Promise<void> {
  const errors: HeadworksError[] = [];
  for (const check of checks) {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof HeadworksError)) throw error;
      errors.push(error);
    }
  }
  const [first, second] = errors;
  if (first && !second) throw first;
  if (!first) return;
  const problems = errors.flatMap(({ details, message }) =>
    Array.isArray(details['problems']) ? details['problems'].map(String) : [message],
  );
  const list = problems.map((problem) => `  - ${problem}`).join('\n');
  throw new CoreError('CONFIG_INVALID', `There are ${problems.length} problems:\n${list}`, {
    details: { problems },
  });
}

function requireNoFolders({ folders }: ExtractionOptionValues): void {
  if (folders.length > 0)
    throw new CoreError(
      'CONFIG_INVALID',
      'extraction.folders (HEADWORKS_EXTRACTION_FOLDERS) is for Looker; a REST source has no folders.',
    );
}

const withoutFolders = (types: readonly string[]): readonly string[] =>
  types.filter((name) => !hasFolders(name));

/** A filter that applies to no type is a mistake. */
function requireFolderTypes({ folders, types }: ExtractionOptionValues): void {
  if (folders.length > 0 && types.length > 0 && withoutFolders(types).length === types.length)
    throw new CoreError(
      'CONFIG_INVALID',
      `extraction.folders (--folders) is for dashboards and looks, and --types names only ${types.join(', ')}.`,
    );
}

function reportIgnored({ extraction: { folders, types }, env, onIgnored }: SourceSettingsDeps): void {
  const others = withoutFolders(types);
  if (folders.length > 0 && others.length > 0)
    onIgnored('--folders', `${others.join(', ')} have no folders and are extracted completely`);
  const variable = 'LOOKERSDK_VERIFY_SSL';
  if (/^(false|f|0|no|n|off)$/i.test(env[variable] ?? ''))
    onIgnored(variable, 'certificates are always verified; trust another authority with NODE_EXTRA_CA_CERTS');
}

async function readSourceText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const problem = readProblems[kindOf(error)] ?? `cannot be read (${messageOf(error)}). Check the file`;
    throw new ExtractionError('EXTRACTION_SOURCE_INVALID', `The source file ${file} ${problem}.`, {
      cause: error,
    });
  }
}

const readProblems: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist. Check the path',
  ENOTDIR: 'does not exist. Check the path',
  EISDIR: 'is a folder. Name the YAML file in it',
  EACCES: 'cannot be read by this user. Check its permissions',
  EPERM: 'cannot be read by this user. Check its permissions',
};

function requireCredentials({ baseUrl, clientId, clientSecret }: LookerOptionValues): void {
  const missing = [
    ...(baseUrl === null ? ['looker.baseUrl (LOOKER_BASE_URL)'] : []),
    ...(clientId === null ? ['looker.clientId (LOOKER_CLIENT_ID)'] : []),
    ...(clientSecret === null ? ['looker.clientSecret (LOOKER_CLIENT_SECRET)'] : []),
  ];
  if (missing.length === 0) return;
  throw new CoreError(
    'CONFIG_INVALID',
    `Looker needs ${missing.join(', ')}: not set. Create an API key in Looker (Admin, Users, Edit, API keys) and set them.`,
  );
}
