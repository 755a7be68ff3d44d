// Makes the source that a command or a schedule names, from the configuration.
import { readFile } from 'node:fs/promises';
import type { Config } from '../config/index.ts';
import type { HttpTransport } from '../core/index.ts';
import { CoreError, messageOf, systemClock } from '../core/index.ts';
import type { Source } from '../extraction/index.ts';
import { ExtractionError } from '../extraction/index.ts';
import { createLookerSource } from '../extraction/sources/looker/create-looker-source.ts';

/** `file` is absolute, or relative to the working directory; with `text` it is only what messages call it. */
export type SourceChoice =
  { readonly kind: 'looker' } | { readonly kind: 'rest'; readonly file: string; readonly text?: string };

export interface SourceTools {
  readonly transport: HttpTransport;
  /** For `${NAME}` in source files. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onSecret: (secret: string) => void;
  /** Waits for leave of the rate limiter. */
  readonly pace: (signal: AbortSignal) => Promise<void>;
}

/** Fails with CONFIG_INVALID or EXTRACTION_SOURCE_INVALID before anything is asked for. */
export async function makeSource(config: Config, choice: SourceChoice, tools: SourceTools): Promise<Source> {
  return choice.kind === 'looker' ? lookerSource(config, tools) : restSource(config, choice, tools);
}

function lookerSource({ looker, extraction }: Config, tools: SourceTools): Source {
  const { baseUrl, clientId, clientSecret } = looker;
  const { folders, recursive } = extraction;
  if (baseUrl === null || clientId === null || clientSecret === null)
    throw missing([
      ...(baseUrl === null ? ['looker.baseUrl (LOOKER_BASE_URL)'] : []),
      ...(clientId === null ? ['looker.clientId (LOOKER_CLIENT_ID)'] : []),
      ...(clientSecret === null ? ['looker.clientSecret (LOOKER_CLIENT_SECRET)'] : []),
    ]);
  return createLookerSource({
    baseUrl,
    clientId,
    clientSecret,
    transport: tools.transport,
    clock: systemClock,
    limits: { firstByteMs: extraction.timeoutSeconds * 1000 },
    onSecret: tools.onSecret,
    pace: tools.pace,
    ...(folders.length === 0 ? {} : { folders: { ids: folders, recursive } }),
  });
}

async function restSource(
  { extraction }: Config,
  { file, text }: Extract<SourceChoice, { kind: 'rest' }>,
  tools: SourceTools,
): Promise<Source> {
  if (extraction.folders.length > 0)
    throw new CoreError(
      'CONFIG_INVALID',
      'extraction.folders (--folder) is for Looker; a REST source has no folders.',
    );
  const [{ loadRestSource }, { createRestSource }] = await Promise.all([
    import('../extraction/sources/rest/load-rest-source.ts'),
    import('../extraction/sources/rest/create-rest-source.ts'),
  ]);
  const definition = loadRestSource(text ?? (await textOf(file)), { env: tools.env, file });
  for (const secret of definition.secrets) tools.onSecret(secret);
  return createRestSource(definition, {
    transport: tools.transport,
    clock: systemClock,
    limits: { firstByteMs: extraction.timeoutSeconds * 1000 },
    onSecret: tools.onSecret,
  });
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

function missing(names: readonly string[]): CoreError {
  return new CoreError(
    'CONFIG_INVALID',
    `Looker needs ${names.join(', ')}: not set. Make an API key in Looker (Admin, Users, Edit, API keys) and set them.`,
  );
}
