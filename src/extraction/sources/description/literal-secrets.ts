// Finds literal secrets in source files. Files are shared and kept in git, so secrets must be `${NAME}`.
import { isSecretName, maskShapes } from '../../../core/redaction.ts';
import { valueAt } from '../../parsing/json.ts';
import type { Path, Problem, SourceFile } from './yaml-file.ts';
import { pathText } from './yaml-file.ts';

const secretFields = ['token', 'password', 'value', 'client_secret'];

/** Names of API keys, besides the names that are secret everywhere. */
const keyNames =
  /^(x[_-])?(api|app|auth|access)?[_-]?(key|sig|signature|auth|jwt|sid|pin|pass|passcode|credentials?)$/i;

/** Allowed before and after a variable: a scheme or a name with a separator (`Bearer `, `token="`). */
const around = /^(?:[A-Za-z-]{0,20}[\s=:,;"'&@]+)*$/;

/** One problem per literal in the place of a secret, and per text that looks like one. Never contains the value. */
export function literalSecrets(file: SourceFile): readonly Problem[] {
  const root = mapping(file.written);
  const auth = mapping(root['auth']);
  const body = mapping(auth['body']);
  const resources: readonly unknown[] = Array.isArray(root['resources']) ? root['resources'] : [];
  const places: readonly Path[] = [
    ...secretFields.filter((field) => field in auth).map((field) => ['auth', field]),
    ...secretKeys(body).map((key) => ['auth', 'body', key]),
    ...secretKeys(mapping(root['headers'])).map((key) => ['headers', key]),
    ...resources.flatMap((resource, index) =>
      secretKeys(mapping(mapping(resource)['query'])).map((key) => ['resources', index, 'query', key]),
    ),
  ];
  const literal = places.filter((path) => isLiteral(valueAt(file.written, path.map(String))));
  const alike = textsIn(file.written).filter(
    // A password before the host is reported separately.
    ([path, text]) => maskShapes(text) !== text && !(path[0] === 'base_url' && text.includes('@')),
  );
  const found = new Map([...literal, ...alike.map(([path]) => path)].map((path) => [pathText(path), path]));
  const isLoginWithout =
    auth['type'] === 'login' &&
    Object.keys(body).every((key) => !file.variables.has(pathText(['auth', 'body', key]))) &&
    found.size === 0;
  return [...found.values(), ...(isLoginWithout ? [['auth', 'body']] : [])].map((path) => ({
    line: file.lineOf(path),
    text: `${pathText(path)}: a secret must not be in this file; write \${NAME} and set that environment variable`,
  }));
}

/** Without a variable, or with one beside text that may be part of the secret. */
function isLiteral(value: unknown): boolean {
  const [first = '', ...others] = String(value).split(/\$\{[^}]*\}/);
  return others.length === 0 || ![first, ...others].every((text) => around.test(text));
}

/** Every text with its path, without variables. */
function textsIn(value: unknown, path: Path = []): readonly (readonly [path: Path, text: string])[] {
  if (typeof value === 'string') return [[path, value.replaceAll(/\$\{[^}]*\}/g, '')]];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => textsIn(inner, [...path, key]));
}

const secretKeys = (map: Readonly<Record<string, unknown>>): readonly string[] =>
  Object.keys(map).filter((name) => isSecretName(name) || keyNames.test(name));

function mapping(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
