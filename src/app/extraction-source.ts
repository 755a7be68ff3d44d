// Makes the source that a command or a schedule names, from the configuration.
import { readFile } from 'node:fs/promises';
import type { Config } from '../config/index.ts';
import type { HttpTransport } from '../core/index.ts';
import { CoreError, messageOf, systemClock } from '../core/index.ts';
import type { Source } from '../extraction/index.ts';
import { ExtractionError, selectTypes } from '../extraction/index.ts';
import type { PermitProvider } from '../extraction/sources/index.ts';
import { createLookerSource } from '../extraction/sources/looker/create-looker-source.ts';
import { lookerAddress, lookerTypes } from '../extraction/sources/looker/description.ts';
import { collectErrors } from './collect-errors.ts';

/** `file` is absolute, or relative to the working directory; with `text` it is only what messages call it. */
export type SourceChoice =
  | { readonly kind: 'looker' }
  | { readonly kind: 'rest'; readonly file: string; readonly text?: string };

export interface SourceTools {
  readonly transport: HttpTransport;
  /** For `${NAME}` in source files. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onSecret: (secret: string) => void;
  /** PermitProvider of the rate limiter, for every call. */
  readonly acquirePermit: PermitProvider;
  /** Told of what was set and has no effect, and why. */
  readonly onIgnored: (setting: string, reason: string) => void;
}

/** Fails with CONFIG_INVALID or EXTRACTION_SOURCE_INVALID before anything is asked for. */
export async function makeSource(config: Config, choice: SourceChoice, tools: SourceTools): Promise<Source> {
  return choice.kind === 'looker' ? lookerSource(config, tools) : restSource(config, choice, tools);
}

async function lookerSource({ looker, extraction }: Config, tools: SourceTools): Promise<Source> {
  const { baseUrl, clientId, clientSecret } = looker;
  const { folders, recursive } = extraction;
  await collectErrors([
    () => baseUrl === null || lookerAddress(baseUrl),
    () => requireCredentials(looker),
    () =>
      selectTypes(
        lookerTypes.map(({ type }) => type),
        extraction.types,
      ),
    () => requireFolderTypes(extraction),
  ]);
  tellIgnored(extraction, tools);
  // Checked above.
  if (baseUrl === null || clientId === null || clientSecret === null) throw new TypeError('no credentials');
  return createLookerSource({
    baseUrl,
    clientId,
    clientSecret,
    transport: tools.transport,
    clock: systemClock,
    limits: { firstByteMs: extraction.timeoutSeconds * 1000 },
    onSecret: tools.onSecret,
    acquirePermit: tools.acquirePermit,
    ...(folders.length === 0 ? {} : { folders: { ids: folders, recursive } }),
  });
}

async function restSource(
  { extraction }: Config,
  { file, text }: Extract<SourceChoice, { kind: 'rest' }>,
  tools: SourceTools,
): Promise<Source> {
  const [{ loadRestSource }, { createRestSource }] = await Promise.all([
    import('../extraction/sources/description/load.ts'),
    import('../extraction/sources/http-source.ts'),
  ]);
  let source: Source | undefined;
  await collectErrors([
    () => requireNoFolders(extraction),
    async () => {
      const definition = loadRestSource(text ?? (await textOf(file)), { env: tools.env, file });
      for (const { value } of definition.secrets) tools.onSecret(value);
      source = createRestSource(definition, {
        transport: tools.transport,
        clock: systemClock,
        limits: { firstByteMs: extraction.timeoutSeconds * 1000 },
        onSecret: tools.onSecret,
        acquirePermit: tools.acquirePermit,
      });
    },
    () => source && selectTypes(source.types, extraction.types),
  ]);
  if (!source) throw new TypeError('no source');
  return source;
}

function requireNoFolders({ folders }: Config['extraction']): void {
  if (folders.length > 0)
    throw new CoreError(
      'CONFIG_INVALID',
      'extraction.folders (HEADWORKS_EXTRACTION_FOLDERS) is for Looker; a REST source has no folders.',
    );
}

const withoutFolders = (types: readonly string[]): readonly string[] =>
  types.filter((name) => lookerTypes.find(({ type }) => type.name === name)?.hasFolders !== true);

/** A filter that can filter nothing is a mistake. */
function requireFolderTypes({ folders, types }: Config['extraction']): void {
  if (folders.length > 0 && types.length > 0 && withoutFolders(types).length === types.length)
    throw new CoreError(
      'CONFIG_INVALID',
      `extraction.folders (--folder) is for dashboards and looks, and --types names only ${types.join(', ')}.`,
    );
}

function tellIgnored({ folders, types }: Config['extraction'], { env, onIgnored }: SourceTools): void {
  const others = withoutFolders(types);
  if (folders.length > 0 && others.length > 0)
    onIgnored('--folder', `${others.join(', ')} lie in no folders and are read whole`);
  const variable = 'LOOKERSDK_VERIFY_SSL';
  if (/^(false|f|0|no|n|off)$/i.test(env[variable] ?? ''))
    onIgnored(variable, 'certificates are always checked; trust another authority with NODE_EXTRA_CA_CERTS');
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new ExtractionError(
      'EXTRACTION_SOURCE_INVALID',
      `The source file ${file} cannot be read: ${messageOf(error)}. Check the path given with --source.`,
      { cause: error },
    );
  }
}

function requireCredentials({ baseUrl, clientId, clientSecret }: Config['looker']): void {
  const names = [
    ...(baseUrl === null ? ['looker.baseUrl (LOOKER_BASE_URL)'] : []),
    ...(clientId === null ? ['looker.clientId (LOOKER_CLIENT_ID)'] : []),
    ...(clientSecret === null ? ['looker.clientSecret (LOOKER_CLIENT_SECRET)'] : []),
  ];
  if (names.length === 0) return;
  throw new CoreError(
    'CONFIG_INVALID',
    `Looker needs ${names.join(', ')}: not set. Make an API key in Looker (Admin, Users, Edit, API keys) and set them.`,
  );
}
