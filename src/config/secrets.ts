// Secret values of the configuration, and how they are masked.
import type { Config } from './config.ts';
import { listOptions, optionSections, valueOf } from './config.ts';

const mask = '[hidden]';

/** Every secret of this configuration, for the Redactor; passwords in URLs also on their own. */
export function secretsOf(config: Config): readonly string[] {
  const secrets = new Set<string>();
  for (const option of listOptions(optionSections)) {
    for (const text of [valueOf(config, option)].flat()) {
      if (typeof text !== 'string') continue;
      if (option.spec.secret) secrets.add(text);
      for (const password of passwordsIn(text)) secrets.add(password);
    }
  }
  return [...secrets];
}

/** Variables with secrets of the server itself, which no registered source may read; those of Looker are a source's. */
export function serverSecretVariables(): readonly string[] {
  return listOptions(optionSections)
    .filter(({ section, spec }) => spec.secret && section !== 'looker')
    .flatMap(({ spec }) => spec.env);
}

/** The password of a URL, as written and decoded. */
function passwordsIn(text: string): readonly string[] {
  if (!/^[a-z][a-z\d+.-]*:\/\//i.test(text) || !URL.canParse(text)) return [];
  const url = new URL(text);
  const written = [url.password, url.searchParams.get('password') ?? ''].filter(
    (password) => password !== '',
  );
  return written.flatMap((password) => [password, decoded(password)]);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A masked secret: of a URL the address without credentials, of anything else nothing. */
export function maskSecret(value: unknown): unknown {
  if (value === null || value === undefined) return null;
  if (typeof value !== 'string' || !URL.canParse(value)) return mask;
  const { protocol, host, pathname, username, password } = new URL(value);
  if (host === '') return mask;
  return `${protocol}//${username || password ? `${mask}@` : ''}${host}${pathname.includes('@') ? '' : pathname}`;
}

/** Masks a URL with a password; other values are returned unchanged. */
export function maskPassword(value: unknown): unknown {
  return typeof value === 'string' && passwordsIn(value).length > 0 ? maskSecret(value) : value;
}
